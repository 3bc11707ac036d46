/* SPDX-License-Identifier: Apache-2.0 */
/* discover/ finds and opens real JVMs. */
#include "live_source.h"
#include "suite.h"

#include "base/clock.h"
#include "proc/stall_readers.h"

#include <unistd.h>

#define JAVA_17 "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
#define JAVA_25 "/usr/lib/jvm/temurin-25-jdk-amd64/bin/java"

static const char *const JVMS[] = { JAVA_17, JAVA_25 };

START_TEST(opens_a_jvm)
{
    const char *const argv[] = { JVMS[_i],
                                 "-Xmx32m",
                                 "-Dpassword=hunter2",
                                 "-XX:+PreserveFramePointer",
                                 "-XX:+DisableAttachMechanism",
                                 "sun.rmi.registry.RegistryImpl",
                                 "0",
                                 "--token=hunter 2",
                                 NULL };
    _cleanup_close_ int proc_fd = -1;
    struct process_usage usage;
    struct process *p = NULL;
    struct discover *d;
    uint64_t t;
    pid_t pid;

    if (access(JVMS[_i], X_OK) < 0)
        return;
    d = live_discover(&proc_fd, "/proc");
    pid = live_start(argv);
    t = clock_monotonic_ns();
    /* Samples come from the process's first moment on. No other request asks for it. */
    for (int i = 0; i < 3000 && !(p && p->jvm == JVM_READY); i++) {
        live_nap(10 * NSEC_PER_MSEC);
        discover_poll(d, clock_monotonic_ns());
        p = discover_get(d, pid, 0, 0, clock_monotonic_ns(), "java");
    }
    ck_assert_ptr_nonnull(p);
    ck_assert_msg(p->jvm == JVM_READY, "state %d: %s", (int)p->jvm, p->reason);
    ck_assert_uint_ne(p->payer, 0); /* after its end it would be another */
    printf("%s: ready %llu ms after its start\n", p->java_version,
           (unsigned long long)((clock_monotonic_ns() - t) / NSEC_PER_MSEC));
    ck_assert_int_eq(p->jdk, _i == 0 ? 17 : 25);
    ck_assert(span_starts_with(span_of(p->java_version), _i == 0 ? "17." : "25."));
    ck_assert(strstr(p->vm_name, "Server VM") != NULL);
    ck_assert(p->frame_pointers && p->attach_disabled && !p->debug_non_safepoints);
    ck_assert_str_eq(p->main, "sun.rmi.registry.RegistryImpl");
    ck_assert_str_eq(p->command, "sun.rmi.registry.RegistryImpl");
    ck_assert_str_eq(p->args,
                     "-Xmx32m -Dpassword=*** -XX:+PreserveFramePointer "
                     "-XX:+DisableAttachMechanism sun.rmi.registry.RegistryImpl 0 --token=***");
    /* The kernel counts processor time in hundredths of a second: there may be none yet. */
    do {
        live_nap(10 * NSEC_PER_MSEC);
        ck_assert_int_eq(discover_usage(d, p, &usage), 0);
    } while (usage.cpu_percent <= 0.0 && clock_monotonic_ns() - t < 20 * NSEC_PER_SEC);
    ck_assert_uint_gt(usage.rss_bytes, 10 << 20);
    ck_assert_uint_gt(usage.threads, 5);
    ck_assert_double_gt(usage.cpu_percent, 0.0);
    live_stop(pid);
    live_poll_for(d, 50 * NSEC_PER_MSEC);
    ck_assert(p->exited);
    discover_free(d);
}
END_TEST

static struct discover *found_by(int32_t pid, struct process **ret, int *ret_proc_fd)
{
    struct discover *d = live_discover(ret_proc_fd, "/proc");

    discover_sweep(d);
    *ret = discover_find(d, pid);
    return d;
}

START_TEST(opens_a_jvm_that_was_there_before)
{
    const char *const argv[] = {
        JAVA_17, "-Xmx32m", "-XX:-UsePerfData", "sun.rmi.registry.RegistryImpl", "0", NULL
    };
    _cleanup_close_ int proc_fd = -1;
    struct process *p;
    struct discover *d;
    pid_t pid;

    if (access(JAVA_17, X_OK) < 0)
        return;
    pid = live_start(argv);
    live_nap(NSEC_PER_SEC);
    d = found_by(pid, &p, &proc_fd);
    for (int i = 0; i < 150 && !(p && p->jvm == JVM_READY); i++) { /* it did not exist yet */
        discover_free(d);
        close(proc_fd);
        live_nap(200 * NSEC_PER_MSEC);
        d = found_by(pid, &p, &proc_fd);
    }
    ck_assert_ptr_nonnull(p);
    ck_assert_msg(p->jvm == JVM_READY, "state %d: %s", (int)p->jvm, p->reason);
    ck_assert_str_eq(p->main, "sun.rmi.registry.RegistryImpl");
    ck_assert_uint_eq(d->stats.sweeps, 1);
    live_stop(pid);
    discover_free(d);
}
END_TEST

/* While its owner has no CPU time left, a JVM is not opened. Later it is. */
START_TEST(waits_for_its_owners_time)
{
    const char *const argv[] = {
        JAVA_17, "-Xmx32m", "-XX:+PreserveFramePointer", "sun.rmi.registry.RegistryImpl", "0", NULL
    };
    _cleanup_close_ int proc_fd = -1;
    struct proc_stat stat;
    struct proc_id id;
    struct process *p;
    struct discover *d;
    uint64_t until_ns;
    pid_t pid;

    if (access(JAVA_17, X_OK) < 0)
        return;
    pid = live_start(argv);
    live_nap(DISCOVER_LAST_LOOK_NS + NSEC_PER_SEC); /* it would not be looked at again by itself */
    d = live_discover(&proc_fd, "/proc");
    readers_use(proc_fd);
    ck_assert_int_eq(proc_read_stat(proc_fd, pid, &stat), 0);
    id = (struct proc_id){ .host_pid = pid, .start_ticks = stat.start_ticks };
    readers_spend_work(&id, 2 * NSEC_PER_SEC);
    for (int i = 0; i < 20; i++) {
        p = discover_find(d, pid);
        ck_assert_ptr_nonnull(p);
        ck_assert_int_eq(p->jvm, JVM_NO);
        ck_assert_str_eq(p->reason, "");
        live_nap(50 * NSEC_PER_MSEC);
        readers_spend_work(&p->id, 100 * NSEC_PER_MSEC);
        discover_poll(d, clock_monotonic_ns());
    }
    until_ns = clock_monotonic_ns() + 60 * NSEC_PER_SEC;
    while (p->jvm != JVM_READY && clock_monotonic_ns() < until_ns) {
        live_nap(50 * NSEC_PER_MSEC);
        discover_poll(d, clock_monotonic_ns());
        p = discover_find(d, pid);
        ck_assert_ptr_nonnull(p);
        ck_assert_msg(p->jvm != JVM_UNSUPPORTED, "%s", p->reason);
    }
    ck_assert_msg(p->jvm == JVM_READY, "state %d: %s", (int)p->jvm, p->reason);
    ck_assert(p->frame_pointers);
    live_stop(pid);
    discover_free(d);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discover_jvm");
    int skip = live_missing();

    if (skip)
        return skip;
    tcase_add_loop_test(tc, opens_a_jvm, 0, ARRAY_SIZE(JVMS));
    tcase_add_test(tc, opens_a_jvm_that_was_there_before);
    tcase_add_test(tc, waits_for_its_owners_time); /* last: this thread uses readers from then on */
    tcase_set_timeout(tc, 120);
    return suite_run_case("discover_jvm", tc);
}
