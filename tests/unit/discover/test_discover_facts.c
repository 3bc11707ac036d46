/* SPDX-License-Identifier: Apache-2.0 */
/* discover: what is said of a process, and why something cannot be said. */
#include "discover_fixture.h"

START_TEST(reads_a_process_in_a_container)
{
    struct discover *d = make(NODE, false);
    struct process *p = discover_find(d, 42);

    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(p->id.start_ticks, 5000);
    ck_assert_str_eq(p->comm, "java");
    ck_assert_uint_eq(p->uid, 100103);
    ck_assert_int_eq(p->container_uid, 103);
    ck_assert_uint_eq(p->ns_depth, 3);
    ck_assert_int_eq(p->ns_pid[0], 42);
    ck_assert_int_eq(p->ns_pid[2], 1);
    ck_assert_str_eq(p->container.id, ID);
    ck_assert_str_eq(p->container.runtime, "containerd");
    ck_assert_str_eq(p->container.name, "orders");
    ck_assert_str_eq(p->container.pod_name, "orders-7d9c6b5f4-x2x7q");
    ck_assert_str_eq(p->container.pod_namespace, "shop");
    ck_assert_str_eq(p->container.pod_uid, "0a1b2c3d-1111-2222-3333-444455556666");
    ck_assert(span_starts_with(span_of(p->cgroup), "/kubepods.slice/"));
    ck_assert_ptr_eq(discover_find(d, 42), p);
    ck_assert_uint_eq(configs_opened, 1);
    end(d);
}
END_TEST

START_TEST(tells_the_cpu_limit_and_looks_again_later)
{
    struct discover *d = make(NODE, false);
    struct process_usage usage = { 0 };
    struct process *p;

    fake_cpu_limit = 1500;
    p = discover_find(d, 42);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(discover_usage(d, p, &usage), 0);
    ck_assert_double_eq(usage.cpu_limit, 1.5);
    fake_cpu_limit = 0;
    ck_assert_int_eq(discover_usage(d, p, &usage), 0);
    ck_assert_double_eq(usage.cpu_limit, 1.5);
    image_of(p)->cpu_limit_ns -= 10 * NSEC_PER_SEC;
    ck_assert_int_eq(discover_usage(d, p, &usage), 0);
    ck_assert_double_eq(usage.cpu_limit, 0);
    end(d);
}
END_TEST

/* The same names, made by the user whose process it is: no container, and nobody is asked of one.
 */
START_TEST(a_container_that_a_user_made_up_is_none)
{
    struct discover *d = make(NODE, false);
    struct process *p;

    made_by_root = "0::/user.slice/user-1001.slice/user@1001.service\n";
    p = discover_find(d, 42);
    made_by_root = NULL;
    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(p->container.id, "");
    ck_assert_str_eq(p->container.name, "");
    ck_assert_str_eq(p->container.pod_name, "");
    ck_assert_str_eq(p->container.pod_namespace, "");
    ck_assert_str_eq(p->container.pod_uid, "");
    ck_assert_uint_eq(configs_opened, 0);
    end(d);
}
END_TEST

START_TEST(says_why_a_jvm_cannot_be_read)
{
    struct discover *d = make(NODE, _i == 1);
    struct process *p = discover_find(d, 42);

    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->jvm, JVM_UNSUPPORTED);
    ck_assert_uint_eq(p->libjvm_base, 0x7f0000000000);
    ck_assert_str_eq(p->reason, "its memory cannot be read: flamed-broker lacks CAP_SYS_PTRACE; "
                                "give it back");
    ck_assert_str_eq(p->main, "/opt/my app/orders.jar");
    ck_assert_str_eq(p->command, "orders.jar");
    ck_assert_str_eq(
        p->args, _i == 1
                     ? "-Xmx1g -Ddb.password=hunter2 -javaagent:/a.jar=key=hunter2 -jar /opt/my "
                       "app/orders.jar --token=hunter 2 --port 8080"
                     : "-Xmx1g -Ddb.password=*** -javaagent:/a.jar=*** -jar /opt/my app/orders.jar "
                       "--token=*** --port 8080");
    end(d);
}
END_TEST

/* It says so as long as that holds, then it is looked at as any other. */
START_TEST(looks_again_at_one_that_was_quarantined)
{
    struct discover *d;
    struct process *p;

    quarantined = true;
    d = make(NODE, false);
    p = discover_find(d, 42);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->jvm, JVM_UNSUPPORTED);
    ck_assert(strstr(p->reason, "quarantined") != NULL);
    ck_assert_str_eq(p->container.id, ""); /* who made its cgroups is unknown */
    ck_assert_uint_eq(maps_opened, 0);
    discover_poll(d, clock_monotonic_ns() + DISCOVER_QUARANTINED_LOOK_NS);
    ck_assert(strstr(p->reason, "quarantined") != NULL);
    quarantined = false;
    discover_poll(d, clock_monotonic_ns() + 2 * DISCOVER_QUARANTINED_LOOK_NS);
    ck_assert_uint_eq(p->libjvm_base, 0x7f0000000000);
    ck_assert(strstr(p->reason, "CAP_SYS_PTRACE") != NULL);
    ck_assert_str_eq(p->main, "/opt/my app/orders.jar");
    ck_assert_str_eq(p->container.id, ID);
    end(d);
}
END_TEST

/* A quarantine does not take a process out of its container. */
START_TEST(keeps_the_container_of_one_that_is_quarantined)
{
    struct discover *d = make(NODE, false);
    struct process *p = discover_find(d, 42);
    struct process_usage usage;
    char pod[sizeof(p->container.pod_name)];

    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(p->container.id, ID);
    ck_assert_str_ne(p->container.pod_name, "");
    memcpy(pod, p->container.pod_name, sizeof(pod));
    quarantined = true;
    ((struct image *)p)->facts_ns = 1;
    ((struct image *)p)->cpu_limit = 500;
    ((struct image *)p)->cpu_limit_ns = 0;
    discover_refresh(d, p);
    ck_assert_str_eq(p->container.id, ID);
    ck_assert_str_eq(p->container.pod_name, pod);
    ck_assert_int_eq(discover_usage(d, p, &usage), 0);
    ck_assert_double_eq_tol(usage.cpu_limit, 0.5, 0.001);
    quarantined = false;
    end(d);
}
END_TEST

START_TEST(knows_openj9_and_leaves_it_alone)
{
    struct discover *d = make(NODE, false);
    struct process *p = discover_find(d, 50);

    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->jvm, JVM_UNSUPPORTED);
    ck_assert(strstr(p->reason, "OpenJ9") != NULL);
    ck_assert_str_eq(p->main, "com.example.Main");
    ck_assert_int_eq(p->mem_fd, -1);
    ck_assert_str_eq(p->container.id, "");
    ck_assert_str_eq(p->cgroup, "/system.slice/j9.service");
    end(d);
}
END_TEST

START_TEST(tells_threads_zombies_and_kernel_threads_apart)
{
    struct discover *d = make(NODE, false);
    struct process *p;

    ck_assert_ptr_null(discover_find(d, 77)); /* a thread of 42 */
    ck_assert_ptr_null(discover_find(d, 999));
    ck_assert_ptr_null(discover_find(d, 0));
    ck_assert_ptr_null(discover_find(d, -42));
    p = discover_find(d, 2);
    ck_assert(p && p->kernel_thread && !p->zombie && p->jvm == JVM_NO);
    ck_assert_str_eq(p->command, "kthreadd");
    p = discover_find(d, 61);
    ck_assert(p && p->zombie && !p->kernel_thread);
    p = discover_find(d, 60);
    ck_assert(p && !p->zombie && !p->kernel_thread && p->jvm == JVM_NO);
    ck_assert_str_eq(p->comm, "weird)\xef\xbf\xbd(name");
    ck_assert_str_eq(p->command, "nginx: worker process");
    end(d);
}
END_TEST

static int count_process(void *cookie, struct process *p)
{
    unsigned *n = cookie;

    ck_assert(!p->kernel_thread);
    (*n)++;
    return 0;
}

START_TEST(sweeps_all_but_kernel_threads)
{
    struct discover *d = make(NODE, false);
    struct discover_stats stats;
    unsigned n = 0;

    discover_sweep(d);
    discover_each(d, count_process, &n);
    ck_assert_uint_eq(n, 5); /* 1, 42, 50, 60, and 61 as an ended one */
    discover_stats(d, &stats);
    ck_assert_uint_eq(stats.processes, 4);
    ck_assert_uint_eq(stats.jvms, 2);
    ck_assert_uint_eq(stats.sweeps, 1);
    maps_opened = 0;
    discover_sweep(d); /* nothing has grown: no maps are read again */
    ck_assert_uint_eq(maps_opened, 0);
    discover_stats(d, &stats);
    ck_assert_uint_eq(stats.processes, 4);
    end(d);
}
END_TEST

/* A machine without a clock of its own begins in 1970, and NTP sets its clock later. */
START_TEST(a_start_follows_a_clock_that_was_set)
{
    struct discover *d = make(NODE, false);
    struct process *p = discover_find(d, 42);
    uint64_t first;

    ck_assert_ptr_nonnull(p);
    first = p->start_realtime_ns;
    ck_assert_uint_ge(first + process_age_ns(p) + NSEC_PER_SEC, clock_realtime_ns());
    p->start_realtime_ns = 1;
    discover_sweep(d);
    ck_assert_uint_le(p->start_realtime_ns, first + NSEC_PER_SEC);
    ck_assert_uint_ge(p->start_realtime_ns + NSEC_PER_SEC, first);
    p->start_realtime_ns = first = p->start_realtime_ns + NSEC_PER_MSEC; /* no clock is as steady */
    discover_sweep(d);
    ck_assert_uint_eq(p->start_realtime_ns, first);
    end(d);
}
END_TEST

START_TEST(says_what_keeps_processes_out_of_sight)
{
    struct discover *d = make(NODE, false);

    ck_assert(strstr(discover_problem(d), "another pid namespace") != NULL);
    ck_assert(strstr(discover_problem(d), "perf events are refused; set kernel.perf") != NULL);
    end(d);
}
END_TEST

START_TEST(measures_what_a_process_costs)
{
    struct discover *d = make(NODE, false);
    struct process *p = discover_find(d, 60);
    struct process_usage u;

    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(discover_usage(d, p, &u), 0);
    ck_assert_uint_eq(u.rss_bytes, 1024000);
    ck_assert_uint_eq(u.threads, 14);
    ck_assert_double_gt(u.cpu_percent, 0.0); /* 165 ticks since its start */
    image_of(p)->newer = (struct cpu_point){ clock_monotonic_ns() - 2 * NSEC_PER_SEC, 65 };
    ck_assert_int_eq(discover_usage(d, p, &u), 0); /* 1 s of CPU in 2 s */
    ck_assert_double_gt(u.cpu_percent, 48.0);
    ck_assert_double_lt(u.cpu_percent, 50.1);
    p->id.start_ticks++;
    ck_assert_int_eq(discover_usage(d, p, &u), PROC_GONE);
    end(d);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discover_facts");

    tcase_add_test(tc, reads_a_process_in_a_container);
    tcase_add_test(tc, tells_the_cpu_limit_and_looks_again_later);
    tcase_add_test(tc, a_container_that_a_user_made_up_is_none);
    tcase_add_loop_test(tc, says_why_a_jvm_cannot_be_read, 0, 2);
    tcase_add_test(tc, looks_again_at_one_that_was_quarantined);
    tcase_add_test(tc, keeps_the_container_of_one_that_is_quarantined);
    tcase_add_test(tc, knows_openj9_and_leaves_it_alone);
    tcase_add_test(tc, tells_threads_zombies_and_kernel_threads_apart);
    tcase_add_test(tc, sweeps_all_but_kernel_threads);
    tcase_add_test(tc, a_start_follows_a_clock_that_was_set);
    tcase_add_test(tc, says_what_keeps_processes_out_of_sight);
    tcase_add_test(tc, measures_what_a_process_costs);
    tcase_set_timeout(tc, 60);
    return suite_run_case("discover_facts", tc);
}
