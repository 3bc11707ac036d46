/* SPDX-License-Identifier: Apache-2.0 */
/* discover/ over a folder that looks like /proc, with side-band records made up: which image is
 * which. */
#include "discover/args.h"
#include "discover/table.h"

#include "base/clock.h"

#include <check.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#define ID "3f4e9f3a1c7b5d2e8a6f0b9c4d1e7f2a5b8c3d6e9f0a1b2c3d4e5f60718293a4"
#define TICK_NS DISCOVER_NS_PER_TICK

/* ---- a broker that knows fixtures only ---- */

static int proc_fd = -1;
static unsigned maps_opened, configs_opened, dropped;

static int fake_maps(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    char path[64];

    (void)ctx;
    maps_opened++;
    snprintf(path, sizeof(path), "%d/maps", id->host_pid);
    *ret_fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? error_errno(err, "maps") : 0;
}

static int fake_mem(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    error_set(err, -EPERM, "flamed-broker lacks CAP_SYS_PTRACE");
    error_remedy(err, "give it back");
    return -EPERM;
}

static int absent(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int fake_config(void *ctx, const char *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)err;
    configs_opened++;
    if (strcmp(id, ID) != 0)
        return BROKER_ABSENT;
    *ret_fd = open(FLAMED_TEST_DATA "/container/containerd-config.json", O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

static int no_logs(void *ctx, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int no_sideband(void *ctx, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                       struct error *err)
{
    (void)ctx;
    (void)ret_fds;
    (void)ret_count;
    error_set(err, -EACCES, "perf events are refused");
    error_remedy(err, "set kernel.perf_event_paranoid to 2");
    return -EACCES;
}

static const struct discover_source SOURCE = {
    .maps = fake_maps,
    .mem = fake_mem,
    .hsperfdata = absent,
    .container_config = fake_config,
    .container_logs = no_logs,
    .sideband = no_sideband,
};

static void count_dropped(void *cookie, struct process *p)
{
    (void)cookie;
    dropped++;
    if (p->pins && strcmp(p->comm, "cached") == 0)
        process_unpin(p);
}

static struct discover *make(const char *folder, bool show_arguments)
{
    struct discover_opts opts = { .show_arguments = show_arguments,
                                  .dropped = count_dropped,
                                  .poll_budget_ns = 60 * NSEC_PER_SEC,
                                  .source = &SOURCE };
    struct discover *d = NULL;
    struct error err = ERROR_NULL;

    proc_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(proc_fd, 0);
    opts.proc_fd = proc_fd;
    maps_opened = configs_opened = dropped = 0;
    ck_assert_int_eq(discover_new(NULL, &opts, &d, &err), 0);
    return d;
}

static void end(struct discover *d)
{
    discover_free(d);
    proc_fd = close_fd(proc_fd);
}

static void tell(struct discover *d, enum sideband_kind kind, int32_t pid, uint64_t time_ns,
                 const char *comm)
{
    struct sideband_record r = { .kind = kind, .host_pid = pid, .time_ns = time_ns, .lost = 3 };

    span_copy(span_of(comm), r.comm, sizeof(r.comm));
    d->in_poll = true; /* as when poll reads the rings */
    events_on_record(d, &r);
    d->in_poll = false;
}

#define NODE FLAMED_TEST_DATA "/proc/node"

static char empty_folder[] = "/tmp/flamed-test-XXXXXX";

/* ---- facts ---- */

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
    ck_assert_int_eq(discover_thread_of(d, 77), 42);
    ck_assert_int_eq(discover_thread_of(d, 42), 0);
    ck_assert_int_eq(discover_thread_of(d, 999), 0);
    ck_assert_int_eq(discover_thread_of(d, -1), 0);
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

/* ---- which image ---- */

START_TEST(keeps_images_apart_by_exec_records)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *old, *new;

    old = discover_get(d, 60, 6100 * TICK_NS, 0, t, "sh");
    ck_assert_ptr_nonnull(old);
    t = clock_monotonic_ns() + 1000;
    tell(d, SIDEBAND_EXEC, 60, t, "sleep");
    new = discover_get(d, 60, 6100 * TICK_NS, 0, t + NSEC_PER_MSEC, "sleep");
    ck_assert_ptr_ne(old, new);
    ck_assert(old->exited && !new->exited);
    ck_assert_uint_eq(new->id.exec_no, old->id.exec_no + 1);
    ck_assert_uint_eq(new->exec_time_ns, t);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 0, t - 1, "x"), old);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 0, t + 2, "x"), new);
    ck_assert_ptr_eq(discover_get(d, 60, 0, 0, t - 1, "x"), old); /* no start time */
    ck_assert_ptr_eq(discover_find(d, 60), new);
    discover_poll(d, t + NSEC_PER_SEC);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 0, t - 1, "x"), old); /* kept for 2 s */
    discover_poll(d, t + 2 * NSEC_PER_SEC + 1);
    ck_assert_uint_eq(dropped, 1);
    end(d);
}
END_TEST

START_TEST(keeps_images_apart_by_exec_numbers)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *a, *b, *c;

    a = discover_get(d, 60, 6100 * TICK_NS, 7, t, "sh");
    b = discover_get(d, 60, 6100 * TICK_NS, 8, t + 1000, "sleep"); /* no record yet */
    ck_assert(a && b && a != b);
    ck_assert(a->exited && !b->exited);
    ck_assert_uint_eq(a->exec_id, 7);
    ck_assert_uint_eq(b->exec_id, 8);
    tell(d, SIDEBAND_EXEC, 60, t + 500, "sleep"); /* here it is: no third image */
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 8, t + 2000, "sleep"), b);
    ck_assert_uint_eq(b->exec_time_ns, t + 500);
    tell(d, SIDEBAND_EXEC, 60, clock_monotonic_ns() + 5000, "late");
    c = discover_get(d, 60, 6100 * TICK_NS, 9, clock_monotonic_ns() + 500000, "late");
    ck_assert(c != a && c != b);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 7, t + 1, "sh"), a);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 8, t + 1, "sh"), b);
    ck_assert_uint_eq(c->id.exec_no, 2);
    /* a sample of before all of them */
    c = discover_get(d, 60, 6100 * TICK_NS, 6, t - 1, "first");
    ck_assert(c && c->exited && c != a && c != b);
    ck_assert_str_eq(c->command, "first");
    ck_assert(!proc_id_equal(&c->id, &a->id) && !proc_id_equal(&c->id, &b->id));
    end(d);
}
END_TEST

START_TEST(gives_a_just_born_image_its_number)
{
    /* The kernel raises the exec number a moment after the record's time. */
    struct discover *d = make(NODE, false);
    struct process *old, *new;
    uint64_t t;

    old = discover_get(d, 60, 6100 * TICK_NS, 0, clock_monotonic_ns(), "sh");
    t = clock_monotonic_ns() + 1000;
    tell(d, SIDEBAND_EXEC, 60, t, "sleep");
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 3, t + 2000, "sh"), old);
    new = discover_get(d, 60, 6100 * TICK_NS, 4, t + 100000, "sleep");
    ck_assert_ptr_ne(new, old);
    ck_assert_uint_eq(old->exec_id, 3);
    ck_assert_uint_eq(new->exec_id, 4);
    ck_assert_uint_eq(d->count, 2);
    end(d);
}
END_TEST

START_TEST(names_what_is_gone_by_its_comm)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *p = discover_get(d, 4711, 123 * TICK_NS, 1, t, "short\x1b");

    ck_assert_ptr_nonnull(p);
    ck_assert(p->exited);
    ck_assert_str_eq(p->comm, "short\xef\xbf\xbd");
    ck_assert_str_eq(p->command, "short\xef\xbf\xbd");
    ck_assert_ptr_eq(discover_get(d, 4711, 123 * TICK_NS, 1, t + 1, "other"), p);
    /* another process with that pid */
    ck_assert_ptr_ne(discover_get(d, 4711, 999 * TICK_NS, 1, t + 2, "next"), p);
    ck_assert_ptr_eq(discover_get(d, 4711, 123 * TICK_NS, 1, t + 1, "other"), p);
    ck_assert_ptr_null(discover_get(d, 0, 0, 0, t, "swapper"));
    ck_assert_ptr_null(discover_get(d, -1, 0, 0, t, "x"));
    end(d);
}
END_TEST

START_TEST(keeps_an_image_of_before_an_exec_that_was_only_noted)
{
    /* Nobody asked for the process before; then come samples of before and after its exec. */
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *old, *new;

    tell(d, SIDEBAND_FORK, 60, t, "");
    tell(d, SIDEBAND_EXEC, 60, t + NSEC_PER_MSEC, "sh");
    tell(d, SIDEBAND_EXEC, 60, t + 2 * NSEC_PER_MSEC, "sleep");
    ck_assert_uint_eq(d->count, 0);
    old = discover_get(d, 60, 6100 * TICK_NS, 5, t + NSEC_PER_MSEC + 500000, "sh");
    new = discover_get(d, 60, 6100 * TICK_NS, 6, t + 3 * NSEC_PER_MSEC, "sleep");
    ck_assert(old && new &&old != new);
    ck_assert(old->exited && !new->exited);
    ck_assert_str_eq(old->command, "sh");
    ck_assert_uint_eq(new->id.exec_no, 2);
    ck_assert_uint_eq(old->id.exec_no, 1);
    end(d);
}
END_TEST

START_TEST(revives_a_process_whose_first_thread_ended)
{
    struct discover *d = make(NODE, false);
    uint64_t t = clock_monotonic_ns();
    struct process *p = discover_get(d, 60, 6100 * TICK_NS, 1, t, "x");

    tell(d, SIDEBAND_EXIT, 60, t + 10, "");
    ck_assert(p->exited);
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 1, t + 5, "x"), p);
    ck_assert(p->exited); /* a sample of before its end says nothing */
    ck_assert_ptr_eq(discover_get(d, 60, 6100 * TICK_NS, 1, t + NSEC_PER_SEC, "x"), p);
    ck_assert(!p->exited);
    end(d);
}
END_TEST

/* ---- limits ---- */

START_TEST(pays_next_to_nothing_for_a_storm_of_execs)
{
    struct discover *d = make(empty_folder, false);
    uint64_t t = clock_monotonic_ns();

    for (int i = 0; i < 200000; i++) {
        int32_t pid = 1000 + i % 30000;

        tell(d, SIDEBAND_FORK, pid, t, "");
        tell(d, SIDEBAND_EXEC, pid, t + 1000, "true");
        tell(d, SIDEBAND_EXIT, pid, t + 2000, "");
        t += 500000;
    }
    ck_assert_uint_eq(d->count, 0);
    ck_assert_uint_eq(maps_opened, 0);
    discover_poll(d, t + 20 * NSEC_PER_SEC);
    ck_assert_uint_eq(d->count, 0);
    end(d);
}
END_TEST

START_TEST(is_full_at_its_limit_and_empties_again)
{
    struct discover *d = make(empty_folder, false);
    uint64_t t = clock_monotonic_ns();
    struct discover_stats stats;
    struct process *pinned = NULL;

    for (int i = 0; i < DISCOVER_PROCESSES_MAX; i++) {
        struct process *p =
            discover_get(d, 1000 + i, (uint64_t)(1000 + i) * TICK_NS, 1, t, "burst");

        ck_assert_ptr_nonnull(p);
        if (i == 17)
            process_pin(pinned = p);
        if (i % 2 && i != 17) { /* a cache that lets go when told */
            span_copy(SPAN("cached"), p->comm, sizeof(p->comm));
            process_pin(p);
        }
    }
    ck_assert_ptr_null(discover_get(d, 1, TICK_NS, 1, t, "one more"));
    discover_stats(d, &stats);
    ck_assert_uint_eq(stats.table_full, 1);
    discover_poll(d, t + 10 * NSEC_PER_SEC);
    ck_assert_uint_eq(d->count, 1);
    ck_assert_str_eq(pinned->comm, "burst");
    ck_assert_uint_eq(dropped, DISCOVER_PROCESSES_MAX);
    discover_poll(d, t + 11 * NSEC_PER_SEC);
    ck_assert_uint_eq(d->count, 1);
    ck_assert_uint_eq(dropped, DISCOVER_PROCESSES_MAX); /* told once */
    process_unpin(pinned);
    discover_poll(d, t + 12 * NSEC_PER_SEC);
    ck_assert_uint_eq(d->count, 0);
    ck_assert_ptr_nonnull(discover_get(d, 1, TICK_NS, 1, t, "one more"));
    end(d);
}
END_TEST

START_TEST(gives_up_ended_ones_early_when_nearly_full)
{
    struct discover *d = make(empty_folder, false);
    uint64_t t = clock_monotonic_ns();

    for (int i = 0; i < DISCOVER_PROCESSES_MAX; i++)
        discover_get(d, 1000 + i, (uint64_t)(1000 + i) * TICK_NS, 1, t, "burst");
    discover_poll(d, clock_monotonic_ns()); /* nobody is gone for 2 s */
    ck_assert_uint_eq(d->count, DISCOVER_PROCESSES_MAX / 4 * 3);
    ck_assert_ptr_null(table_newest(d, 1000)); /* the oldest went first */
    ck_assert_ptr_nonnull(table_newest(d, 1000 + DISCOVER_PROCESSES_MAX - 1));
    end(d);
}
END_TEST

START_TEST(sweeps_after_lost_records)
{
    struct discover *d = make(NODE, false);

    discover_sweep(d);
    tell(d, SIDEBAND_LOST, 0, clock_monotonic_ns(), "");
    ck_assert_uint_eq(d->stats.sideband_lost, 3);
    discover_poll(d, clock_monotonic_ns() + 3 * NSEC_PER_SEC);
    ck_assert_uint_eq(d->stats.sweeps, 2);
    end(d);
}
END_TEST

START_TEST(notes_come_due_once)
{
    static struct recent r;

    recent_fork(&r, 10, 100, 1100);
    recent_exec(&r, 10, 200, 1200);
    recent_exec(&r, 11, 300, 1300);
    recent_forget(&r, 11);
    ck_assert_uint_eq(recent_find(&r, 10)->execs, 1);
    ck_assert_uint_eq(recent_find(&r, 10)->fork_ns, 100);
    ck_assert_int_eq(recent_take_due(&r, 1199), 0);
    ck_assert_int_eq(recent_take_due(&r, 2000), 10);
    ck_assert_int_eq(recent_take_due(&r, 2000), 0);
    ck_assert_ptr_nonnull(recent_find(&r, 10)); /* the count of execs stays */
    ck_assert_ptr_null(recent_find(&r, 11));
    ck_assert_uint_eq(r.missed, 0);
    recent_fork(&r, 10 + RECENT_NOTES, 400, 1400); /* in its place, and nothing is lost by it */
    ck_assert_ptr_null(recent_find(&r, 10));
    ck_assert_uint_eq(r.missed, 0);
    recent_exec(&r, 10, 500, 1500);
    ck_assert_uint_eq(r.missed, 1);
}
END_TEST

/* ---- arguments ---- */

static const struct {
    const char *command, *cmdline;
    size_t n;
    const char *main, *after; /* after: up to its first NUL */
} MAIN_CASES[] = {
#define CMD(s) s, sizeof(s) - 1
    { "", CMD("java\0-cp\0x\0Main\0a"), "Main", "a" },
    { "", CMD("java\0-jar\0/a b.jar\0-x"), "/a b.jar", "-x" },
    { "", CMD("java\0-Xmx1g\0@args\0-m\0mod/Main"), "mod/Main", "" },
    { "", CMD("java\0--module=mod/Main\0z"), "mod/Main", "z" },
    { "", CMD("java\0--add-opens\0a/b=ALL\0Main"), "Main", "" },
    { "", CMD("java\0-jar"), NULL, NULL },
    { "", CMD("java\0-version"), NULL, NULL },
    { "", CMD("java"), NULL, NULL },
    { "", CMD(""), NULL, NULL },
    { "/a b.jar -x", CMD("java\0-jar\0/a b.jar\0-x"), "/a b.jar", "-x" },
    { "Main a", CMD("java\0-DMain=Main\0Main\0a"), "Main", "a" },
    { "Main a", CMD("[rewritten]"), "Main", "" },
    { "Main", CMD(""), "Main", "" },
    { "  ", CMD("java\0Main"), NULL, NULL },
};

START_TEST(finds_the_main_class)
{
    struct span cmdline = { MAIN_CASES[_i].cmdline, MAIN_CASES[_i].n }, main, after;
    bool found = MAIN_CASES[_i].command[0]
                     ? args_main_of_command(span_of(MAIN_CASES[_i].command), cmdline, &main, &after)
                     : args_main(cmdline, &main, &after);

    ck_assert_int_eq(found, MAIN_CASES[_i].main != NULL);
    if (!found)
        return;
    ck_assert(span_eq_str(main, MAIN_CASES[_i].main));
    after.n = span_find(after, '\0');
    ck_assert(span_eq_str(after, MAIN_CASES[_i].after));
}
END_TEST

START_TEST(masks_values)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct span args = SPAN("-Dkey=a=b\0-Dflag\0--x=1\0--y\0z=1\0-Xms=7\0-javaagent:a.jar\0\0-n\n");

    buf_init(&b, 1000);
    args_add(&b, args, /* mask= */ true);
    ck_assert_str_eq(b.p,
                     "-Dkey=*** -Dflag --x=*** --y z=1 -Xms=7 -javaagent:a.jar -n\xef\xbf\xbd");
    buf_clear(&b);
    args_add_words(&b, SPAN("Main --pw=a secret tail -x y --q=1"), /* mask= */ true);
    ck_assert_str_eq(b.p, "Main --pw=*** -x y --q=***");
    buf_clear(&b);
    args_add_words(&b, SPAN("--pw=a b"), /* mask= */ false);
    ck_assert_str_eq(b.p, "--pw=a b");
}
END_TEST

/* ---- maps of a JVM, side-band bytes ---- */

static const struct {
    const char *maps;
    uint64_t base;
    bool openj9;
} SCAN_CASES[] = {
    { "1000-2000 r--p 00000000 fd:01 1 /x/libjvm.so", 0x1000, false },
    { "9000-a000 r--p 00000000 fd:01 2 /y/libjvm.so\n1000-2000 r--p 00000000 fd:01 1 /x/libjvm.so",
      0x1000, false },
    { "1000-2000 r-xp 00001000 fd:01 1 /x/libjvm.so", 0, false }, /* not its start */
    { "1000-2000 r--p 00000000 fd:01 1 /x/notlibjvm.so", 0, false },
    { "1000-2000 r--p 00000000 fd:01 1 /x/libjvm.so.bak", 0, false },
    { "1000-2000 r--p 00000000 fd:01 1 /x/libj9vm_b158.so", 0, true },
    { "", 0, false },
};

START_TEST(finds_libjvm)
{
    struct jvm_scan s = { 0 };

    jvm_scan_text(&s, span_of(SCAN_CASES[_i].maps));
    ck_assert_uint_eq(s.libjvm_base, SCAN_CASES[_i].base);
    ck_assert_int_eq(s.openj9, SCAN_CASES[_i].openj9);
}
END_TEST

static void put_header(struct buf *b, uint32_t type, uint16_t misc, uint16_t size)
{
    struct perf_event_header h = { .type = type, .misc = misc, .size = size };

    buf_add(b, &h, sizeof(h));
}

static void put_u32(struct buf *b, uint32_t v)
{
    buf_add(b, &v, sizeof(v));
}

static void put_id(struct buf *b, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    put_u32(b, pid);
    put_u32(b, tid);
    buf_add(b, &time_ns, sizeof(time_ns));
}

static void put_task(struct buf *b, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid)
{
    uint64_t t = 55;

    put_header(b, type, 0, 48);
    put_u32(b, pid);
    put_u32(b, ppid);
    put_u32(b, tid);
    put_u32(b, ppid);
    buf_add(b, &t, sizeof(t));
    put_id(b, pid, tid, 55);
}

START_TEST(parses_side_band_records)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct sideband_record r;
    struct span s;

    buf_init(&b, 4096);
    put_task(&b, PERF_RECORD_FORK, 10, 9, 10);
    put_task(&b, PERF_RECORD_FORK, 10, 10, 11); /* a thread */
    put_task(&b, PERF_RECORD_EXIT, 10, 9, 11);  /* a thread */
    put_task(&b, PERF_RECORD_EXIT, 10, 9, 10);
    put_header(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 40);
    put_u32(&b, 10);
    put_u32(&b, 10);
    buf_add(&b, "java\0\0\0", 8);
    put_id(&b, 10, 10, 77);
    put_header(&b, PERF_RECORD_COMM, 0, 40); /* prctl(PR_SET_NAME) */
    put_u32(&b, 10);
    put_u32(&b, 10);
    buf_add(&b, "java\0\0\0", 8);
    put_id(&b, 10, 10, 78);
    put_header(&b, PERF_RECORD_LOST, 0, 40);
    buf_add(&b, &(uint64_t){ 1 }, 8);
    buf_add(&b, &(uint64_t){ 12 }, 8);
    put_id(&b, 10, 10, 79);
    put_task(&b, PERF_RECORD_FORK, 0xffffffff, 9, 0xffffffff); /* not of our namespace */
    s = buf_span(&b);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_FORK && r.host_pid == 10);
    ck_assert_int_eq(r.parent_pid, 9);
    ck_assert_uint_eq(r.time_ns, 55);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_EXIT && r.host_pid == 10);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_EXEC && r.time_ns == 77);
    ck_assert_str_eq(r.comm, "java");
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_LOST && r.lost == 12);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(!sideband_parse(&s, &r));
    ck_assert_uint_eq(s.n, 0);

    s = (struct span){ b.p, 47 }; /* cut short: nothing is taken */
    ck_assert(!sideband_parse(&s, &r));
    ck_assert_uint_eq(s.n, 47);
    ((struct perf_event_header *)b.p)->size = 4; /* smaller than its header */
    s = buf_span(&b);
    ck_assert(!sideband_parse(&s, &r));
    ((struct perf_event_header *)b.p)->size = 16; /* no room for its fields */
    s = buf_span(&b);
    ck_assert(!sideband_parse(&s, &r));
}
END_TEST

/* A ring as the kernel fills it, in memory of our own. */
struct fake_ring {
    int fd;
    char *p;
    struct perf_event_mmap_page *head;
    size_t page, bytes;
};

static void fake_ring_open(struct fake_ring *r, uint64_t at)
{
    r->page = (size_t)sysconf(_SC_PAGESIZE);
    r->bytes = SIDEBAND_PAGES * r->page;
    r->fd = memfd_create("ring", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(r->fd, (off_t)(r->page + r->bytes)), 0);
    r->p = mmap(NULL, r->page + r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    ck_assert_ptr_ne(r->p, MAP_FAILED);
    r->head = (struct perf_event_mmap_page *)(void *)r->p;
    r->head->data_head = r->head->data_tail = at;
}

static void fake_ring_write(struct fake_ring *r, struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        r->p[r->page + (r->head->data_head + i) % r->bytes] = s.p[i];
    r->head->data_head += s.n;
}

static void fake_ring_close(struct fake_ring *r)
{
    munmap(r->p, r->page + r->bytes);
}

struct seen {
    struct sideband_record r[8];
    size_t n;
};

static void see(void *cookie, const struct sideband_record *r)
{
    struct seen *seen = cookie;

    ck_assert_uint_lt(seen->n, ARRAY_SIZE(seen->r));
    seen->r[seen->n++] = *r;
}

static void write_exec(struct fake_ring *ring, uint32_t pid, const char *comm, uint64_t time_ns)
{
    char padded[8] = "";
    struct buf b;

    buf_init(&b, 4096);
    span_copy(span_of(comm), padded, sizeof(padded));
    put_header(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 40);
    put_u32(&b, pid);
    put_u32(&b, pid);
    buf_add(&b, padded, sizeof(padded));
    put_id(&b, pid, pid, time_ns);
    fake_ring_write(ring, buf_span(&b));
    buf_deinit(&b);
}

START_TEST(reads_rings_in_the_order_of_time)
{
    struct fake_ring a, b;
    struct sideband *rings = NULL;
    struct seen seen = { .n = 0 };

    fake_ring_open(&a, SIDEBAND_PAGES * 4096 * 3 - 24); /* a record across the end */
    fake_ring_open(&b, 0);
    ck_assert_int_eq(sideband_map((int[]){ a.fd, b.fd }, 2, &rings, NULL), 0);
    write_exec(&a, 10, "one", 100);
    write_exec(&a, 10, "three", 300);
    write_exec(&b, 11, "two", 200);
    write_exec(&b, 11, "four", 400);
    ck_assert_uint_eq(sideband_drain(rings, 3, see, &seen), 3);
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 0);
    ck_assert_str_eq(seen.r[0].comm, "one");
    ck_assert_str_eq(seen.r[1].comm, "two");
    ck_assert_str_eq(seen.r[2].comm, "three");
    ck_assert_str_eq(seen.r[3].comm, "four");
    ck_assert_uint_eq(a.head->data_tail, a.head->data_head); /* the kernel has its room back */
    ck_assert_uint_eq(b.head->data_tail, b.head->data_head);
    ck_assert_uint_eq(sideband_malformed(rings), 0);

    fake_ring_write(&b, SPAN("\1\0\0\0\0\0\377\377")); /* a record longer than what is there */
    write_exec(&b, 11, "five", 500);
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_int_eq(seen.r[4].kind, SIDEBAND_LOST);
    ck_assert_uint_eq(sideband_malformed(rings), 48);
    write_exec(&b, 11, "six", 600); /* and it goes on */
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_str_eq(seen.r[5].comm, "six");
    b.head->data_head += a.bytes + 8; /* more than a ring holds */
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_int_eq(seen.r[6].kind, SIDEBAND_LOST);
    sideband_unmap(rings);
    fake_ring_close(&a);
    fake_ring_close(&b);
}
END_TEST

START_TEST(says_why_a_ring_cannot_be_mapped)
{
    struct sideband *rings = NULL;
    struct error err = ERROR_NULL;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    ck_assert_int_lt(sideband_map(&fd, 1, &rings, &err), 0);
    ck_assert_ptr_null(rings);
    ck_assert(strstr(err.remedy, "perf_event_mlock_kb") != NULL);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1); /* taken over all the same */
    ck_assert_uint_eq(sideband_drain(NULL, 1, see, NULL), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("discover");
    TCase *tc = tcase_create("discover");
    SRunner *sr;
    int failed;

    if (!mkdtemp(empty_folder))
        return 1;
    tcase_add_test(tc, reads_a_process_in_a_container);
    tcase_add_loop_test(tc, says_why_a_jvm_cannot_be_read, 0, 2);
    tcase_add_test(tc, knows_openj9_and_leaves_it_alone);
    tcase_add_test(tc, tells_threads_zombies_and_kernel_threads_apart);
    tcase_add_test(tc, sweeps_all_but_kernel_threads);
    tcase_add_test(tc, says_what_keeps_processes_out_of_sight);
    tcase_add_test(tc, measures_what_a_process_costs);
    tcase_add_test(tc, keeps_images_apart_by_exec_records);
    tcase_add_test(tc, keeps_images_apart_by_exec_numbers);
    tcase_add_test(tc, gives_a_just_born_image_its_number);
    tcase_add_test(tc, names_what_is_gone_by_its_comm);
    tcase_add_test(tc, keeps_an_image_of_before_an_exec_that_was_only_noted);
    tcase_add_test(tc, revives_a_process_whose_first_thread_ended);
    tcase_add_test(tc, pays_next_to_nothing_for_a_storm_of_execs);
    tcase_add_test(tc, is_full_at_its_limit_and_empties_again);
    tcase_add_test(tc, gives_up_ended_ones_early_when_nearly_full);
    tcase_add_test(tc, sweeps_after_lost_records);
    tcase_add_test(tc, notes_come_due_once);
    tcase_add_loop_test(tc, finds_the_main_class, 0, ARRAY_SIZE(MAIN_CASES));
    tcase_add_test(tc, masks_values);
    tcase_add_loop_test(tc, finds_libjvm, 0, ARRAY_SIZE(SCAN_CASES));
    tcase_add_test(tc, parses_side_band_records);
    tcase_add_test(tc, reads_rings_in_the_order_of_time);
    tcase_add_test(tc, says_why_a_ring_cannot_be_mapped);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    rmdir(empty_folder);
    return failed ? 1 : 0;
}
