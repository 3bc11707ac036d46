/* SPDX-License-Identifier: Apache-2.0 */
/* discover: storms of processes, a table that is full, records that are lost. */
#include "discover_fixture.h"

static char empty_folder[] = "/tmp/flamed-test-XXXXXX";

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
        if (i % 2 && i != 17) { /* a holder that drops its pointer when told */
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
    ck_assert_uint_eq(dropped, DISCOVER_PROCESSES_MAX); /* each holder is told once */
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
    discover_poll(d, clock_monotonic_ns()); /* no process has been gone for 2 s */
    ck_assert_uint_eq(d->count, DISCOVER_PROCESSES_MAX / 4 * 3);
    ck_assert_ptr_null(table_newest(d, 1000)); /* the oldest went first */
    ck_assert_ptr_nonnull(table_newest(d, 1000 + DISCOVER_PROCESSES_MAX - 1));
    end(d);
}
END_TEST

/* Adds a process that counts as running: the folder is empty. */
static struct image *add_live(struct discover *d, int32_t pid, uint64_t owner)
{
    struct process *p = discover_get(d, pid, (uint64_t)pid * TICK_NS, 1, clock_monotonic_ns(), "x");
    struct image *im = (struct image *)p;

    if (im) {
        im->end_ns = UINT64_MAX;
        p->exited = false;
        p->payer = owner;
    }
    return im;
}

/* The process that executes another program is the only one that could be evicted for it. */
START_TEST(an_exec_evicts_not_its_own_process)
{
    struct discover *d = make(empty_folder, false);
    struct image *im = NULL;
    struct discover_stats stats;

    for (int32_t i = 0; i < DISCOVER_PROCESSES_MAX; i++)
        im = add_live(d, 1000 + i, 1 + (uint64_t)i);
    im->handed = false;
    d->evict_bucket = (size_t)im->p.id.host_pid & (DISCOVER_BUCKETS - 1);
    ck_assert_ptr_null(image_replace(d, im, clock_monotonic_ns(), SPAN("y")));
    ck_assert_uint_eq(d->count, DISCOVER_PROCESSES_MAX);
    ck_assert(im->p.replaced);
    discover_stats(d, &stats);
    ck_assert_uint_eq(stats.table_full, 1);
    end(d);
}
END_TEST

/* The entry of a shell that executes sudo is used again; the user may not look into sudo. */
START_TEST(an_exec_has_no_owner_until_it_is_read)
{
    struct discover *d = make(empty_folder, false);
    struct image *im = add_live(d, 1000, 1);

    im->handed = false;
    im->facts = true;
    im->p.owner = 1000;
    im->p.rootless = true;
    tell(d, SIDEBAND_EXEC, 1000, clock_monotonic_ns(), "sudo");
    ck_assert_ptr_eq(table_newest(d, 1000), im);
    ck_assert_str_eq(im->p.comm, "sudo");
    ck_assert(!im->facts && !im->p.owner && !im->p.rootless);
    end(d);
}
END_TEST

#define CROWD (UINT64_C(1) << 40) /* an owner */
#define OTHERS 100

START_TEST(one_owner_does_not_fill_the_table)
{
    struct discover *d = make(empty_folder, false);
    struct discover_stats stats;
    struct process *pinned = NULL;

    for (int32_t i = 0; i < DISCOVER_PROCESSES_MAX; i++) {
        struct image *im = add_live(d, 1000 + i, i < OTHERS ? 7 + (uint64_t)i : CROWD);

        ck_assert_ptr_nonnull(im);
        if (i == OTHERS)
            process_pin(pinned = &im->p);
        im->p.jvm = _i ? JVM_UNSUPPORTED : JVM_NO;
    }
    ck_assert_ptr_null(add_live(d, 90000, 1));
    discover_poll(d, clock_monotonic_ns() + NSEC_PER_SEC);
    ck_assert_ptr_nonnull(add_live(d, 90000, 1));
    ck_assert_uint_ge(d->count, DISCOVER_PROCESSES_MAX / 2);
    for (int32_t i = 0; i <= OTHERS; i++)
        ck_assert_ptr_nonnull(table_newest(d, 1000 + i)); /* including the pinned one */
    discover_stats(d, &stats);
    ck_assert_uint_gt(stats.table_full, 1);
    process_unpin(pinned);
    end(d);
}
END_TEST

START_TEST(many_owners_may_fill_the_table)
{
    struct discover *d = make(empty_folder, false);

    for (int32_t i = 0; i < DISCOVER_PROCESSES_MAX; i++)
        ck_assert_ptr_nonnull(add_live(d, 1000 + i, 7 + (uint64_t)i % 5));
    discover_poll(d, clock_monotonic_ns() + NSEC_PER_SEC);
    ck_assert_uint_eq(d->count, DISCOVER_PROCESSES_MAX);
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

/* After lost records, a request reads only a part of /proc. */
START_TEST(a_request_waits_for_no_whole_sweep)
{
    struct discover *d = make(NODE, false);

    discover_sweep(d);
    tell(d, SIDEBAND_LOST, 0, clock_monotonic_ns(), "");
    ck_assert_int_eq(sideband_map(NULL, 0, &d->sideband, NULL), 0);
    slow_maps_ns = 50 * NSEC_PER_MSEC;
    discover_catch_up(d);
    ck_assert_uint_eq(d->stats.sweeps, 1);
    ck_assert_ptr_nonnull(d->sweep.dir);
    slow_maps_ns = 0;
    discover_poll(d, clock_monotonic_ns()); /* reads the rest */
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
    recent_fork(&r, 10 + RECENT_NOTES, 400, 1400); /* replaces the oldest; none is lost */
    ck_assert_ptr_null(recent_find(&r, 10));
    ck_assert_uint_eq(r.missed, 0);
    recent_exec(&r, 10, 500, 1500);
    ck_assert_uint_eq(r.missed, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discover_limits");
    int failed;

    if (!mkdtemp(empty_folder))
        return 1;
    tcase_add_test(tc, pays_next_to_nothing_for_a_storm_of_execs);
    tcase_add_test(tc, is_full_at_its_limit_and_empties_again);
    tcase_add_test(tc, gives_up_ended_ones_early_when_nearly_full);
    tcase_add_loop_test(tc, one_owner_does_not_fill_the_table, 0, 2);
    tcase_add_test(tc, many_owners_may_fill_the_table);
    tcase_add_test(tc, sweeps_after_lost_records);
    tcase_add_test(tc, an_exec_evicts_not_its_own_process);
    tcase_add_test(tc, an_exec_has_no_owner_until_it_is_read);
    tcase_add_test(tc, a_request_waits_for_no_whole_sweep);
    tcase_add_test(tc, notes_come_due_once);
    tcase_set_timeout(tc, 60);
    failed = suite_run_case("discover_limits", tc);
    rmdir(empty_folder);
    return failed;
}
