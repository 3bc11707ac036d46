/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF sampler on the running kernel: exact rates, filters, pid namespaces. Needs root. */
#include "burner.h"

/* Each loss counts for its set and process, and is reported once. */
START_TEST(losses_are_told_by_set_and_process)
{
    static struct loss losses[LOSSES_MAX];
    const uint64_t periods[] = { NSEC_PER_MSEC, 2 * NSEC_PER_MSEC };
    struct burner burners[] = { start_burner(), start_burner() };
    struct sample_stats before, stats;
    uint64_t lost[] = { 0, 0 };
    uint32_t sets[2];
    size_t count;

    ck_assert_int_eq(sampler_take_losses(sampler, losses, &count), 0); /* of other tests */
    sampler_stats(sampler, &before);
    sampler_budget(sampler, 0);
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        ck_assert_int_eq(start_kind(sampler, EVENT_CPU, periods[i], &sets[i], &err), 0);
        ck_assert_int_eq(sampler_filter_process(sampler, burners[i].pid, 1U << sets[i]), 0);
    }
    sample_for(&burners[0], 1);
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        ck_assert_int_eq(sampler_filter_process(sampler, burners[i].pid, 0), 0);
    usleep(1000);
    sampler_budget(sampler, STACK_BUDGET_NS);
    ck_assert_int_eq(sampler_take_losses(sampler, losses, &count), 0);
    sampler_stats(sampler, &stats);
    for (size_t k = 0; k < count; k++) {
        size_t i = losses[k].of.host_pid == (uint32_t)burners[1].pid;

        ck_assert_uint_eq(losses[k].of.host_pid, (uint32_t)burners[i].pid);
        ck_assert_uint_eq(losses[k].of.set, sets[i]);
        ck_assert_uint_gt(losses[k].of.start_boottime_ns, 0);
        ck_assert_uint_eq(losses[k].count.unread, 0);
        lost[i] += losses[k].count.costly;
    }
    ck_assert_uint_eq(count, ARRAY_SIZE(sets));
    ck_assert_uint_gt(lost[0], 0);
    ck_assert_uint_gt(lost[1], 0);
    ck_assert_uint_eq(lost[0] + lost[1], stats.lost_budget - before.lost_budget);
    ck_assert_int_eq(sampler_take_losses(sampler, losses, &count), 0);
    ck_assert_uint_eq(count, 0);
    for (size_t i = 0; i < ARRAY_SIZE(burners); i++)
        end_burner(&burners[i]);
}
END_TEST

START_TEST(facts_of_a_sample)
{
    struct burner burner = start_burner();
    uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME), now_ns, spent_ns;
    uint32_t set;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, 2 * NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 0.3);
    now_ns = clock_monotonic_ns();
    spent_ns = MIN(burner_ns(&burner), burner_cpu_ns(&burner));
    end_burner(&burner);
    ck_assert_uint_gt(got.weight[set], spent_ns / (2 * NSEC_PER_MSEC) * 8 / 10);
    ck_assert_uint_eq(got.tid, (uint32_t)burner.pid);
    ck_assert_uint_lt(now_ns - got.last_ns, NSEC_PER_SEC);
    ck_assert_uint_gt(got.start_boottime_ns, boot_ns - NSEC_PER_SEC);
    ck_assert_uint_lt(got.start_boottime_ns, boot_ns + NSEC_PER_SEC);
    ck_assert_uint_eq(got.user_frames, got.weight[set]); /* no tables: only the leaf of each */
    ck_assert_int_eq(strncmp(got.comm, program_invocation_short_name, SAMPLE_COMM_BYTES - 1), 0);
}
END_TEST

START_TEST(filters)
{
    struct burner burner = start_burner();
    uint64_t before_ns;
    uint32_t set, other;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, 10 * NSEC_PER_MSEC, &other, &err), 0);
    sample_for(&burner, 0.2);
    ck_assert_uint_eq(got.weight[set] + got.weight[other] + got.others, 0); /* no set wants them */

    ck_assert_int_eq(sampler_filter_all(sampler, 1U << other), 0);
    sample_for(&burner, 0.3);
    ck_assert_uint_gt(got.weight[other], 2);
    ck_assert_uint_eq(got.weight[set], 0);
    ck_assert_int_eq(sampler_filter_all(sampler, 0), 0);

    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    drain();
    before_ns = burner_ns(&burner);
    sample_for(&burner, 1);
    ck_assert_uint_gt(got.weight[set], (burner_ns(&burner) - before_ns) / NSEC_PER_MSEC / 2);
    ck_assert_uint_gt(got.weight[set], 0);
    ck_assert_uint_eq(got.weight[other] + got.others, 0);

    /* A new set with an old number does not have the old one's processes. */
    ck_assert_int_eq(sampler_stop(sampler, set), 0);
    ck_assert_int_eq(sampler_stop(sampler, set), -ENOENT);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    drain();
    sample_for(&burner, 0.1);
    ck_assert_uint_eq(got.weight[set] + got.weight[other] + got.others, 0);
    end_burner(&burner);
}
END_TEST

START_TEST(takes_all_sets)
{
    uint32_t set;

    for (int i = 0; i < SAMPLER_SETS_MAX; i++)
        ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), 0);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), -EBUSY);
    ck_assert_int_eq(sampler_stop(sampler, 2), 0);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), 0);
    ck_assert_uint_eq(set, 2);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, 1000, &set, &err), -EINVAL);
    ck_assert_int_eq(sampler_filter_process(sampler, 0, 1), -EINVAL);
    ck_assert_int_eq(sampler_filter_process(sampler, 1, 1U << SAMPLER_SETS_MAX), -EINVAL);
}
END_TEST

/* The burner runs on processor 0. The set follows the list of online processors. */
START_TEST(follows_processors)
{
    struct burner burner = start_burner();
    uint32_t cpus[2] = { 0, 1 }, set;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    ck_assert_int_eq(sampler_follow_cpus(sampler), 0); /* no processor came or went */
    ck_assert_int_gt(sampler_set_cpus(sampler, cpus + 1, 1), 0);
    drain();
    sample_for(&burner, 0.2);
    ck_assert_uint_eq(got.weight[set], 0);
    ck_assert_int_eq(sampler_set_cpus(sampler, cpus, 2), 1);
    sample_for(&burner, 0.3);
    ck_assert_uint_gt(got.weight[set], 10);
    ck_assert_int_ge(sampler_follow_cpus(sampler), 0);
    ck_assert_int_eq(sampler_follow_cpus(sampler), 0);
    end_burner(&burner);
}
END_TEST

/* Describes all code that this process may execute by one row. */
static void describe_burner(struct unwind_process *p, pid_t pid, uint32_t slot)
{
    *p = (struct unwind_process){ .slot = slot, .mapping_count = 1 };
    p->mappings[0] =
        (struct unwind_mapping){ .start = 4096, .end = UINT64_C(1) << 47, .row_count = 1 };
    ck_assert_int_eq(sampler_put_process(sampler, pid, p), 0);
}

/* Memory of a program that counts like a JVM. Addresses are of the burner, a copy of this one. */
static struct {
    uint64_t classes, shared;
    uint8_t redefines[2];
} counted;

static const struct {
    uintptr_t classes, redefines;
    uint64_t unloads; /* of a sample */
} COUNTS[] = {
    { (uintptr_t)&counted.classes, (uintptr_t)&counted.redefines[0], 1 + 7 + 4 },
    { (uintptr_t)&counted.classes, (uintptr_t)&counted.redefines[1], 0 },
    { (uintptr_t)&counted.classes, 0, 0 }, /* not known */
    { 16, (uintptr_t)&counted.redefines[0], 0 },
    { UINT64_MAX - 7, (uintptr_t)&counted.redefines[0], 0 },
};

/* A sample has the number of classes that its JVM has unloaded. */
START_TEST(a_sample_counts_unloads)
{
    struct unwind_row root = { .base = UNWIND_BASE_ROOT };
    struct unwind_process p;
    struct burner burner;
    uint32_t set;

    counted.classes = 7; /* written, so that the burner has these pages */
    counted.shared = 4;
    counted.redefines[1] = 1;
    burner = start_burner();
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &root, 1), 0);
    describe_burner(&p, burner.pid, 9);
    p.unloads = (struct unwind_unloads){ .at = { COUNTS[_i].classes, (uintptr_t)&counted.shared },
                                         .can_redefine = COUNTS[_i].redefines };
    ck_assert_int_eq(sampler_put_process(sampler, burner.pid, &p), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 0.1);
    ck_assert_uint_gt(got.ends[UNWIND_END_ROOT], 5);
    ck_assert_uint_eq(got.unloads, COUNTS[_i].unloads);
    sampler_put_process(sampler, burner.pid, NULL);
    end_burner(&burner);
}
END_TEST

/* A walk's cached result for a slot is dropped when slots are reused. */
START_TEST(forgets_when_slots_begin_anew)
{
    struct unwind_row root = { .base = UNWIND_BASE_ROOT },
                      wrong = { .base = UNWIND_BASE_SP_LOAD, .cfa = INT16_MAX };
    struct burner burner = start_burner();
    struct unwind_process p;
    uint32_t set;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &root, 1), 0);
    describe_burner(&p, burner.pid, 9);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 0.5);
    ck_assert_uint_gt(got.ends[UNWIND_END_ROOT], 20);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &wrong, 1), 0);
    describe_burner(&p, burner.pid, 9); /* the same slot: cached, right or wrong */
    drain();
    sample_for(&burner, 0.3);
    ck_assert_uint_gt(got.ends[UNWIND_END_ROOT], 10);
    describe_burner(&p, burner.pid, 3);
    describe_burner(&p, burner.pid, 9);
    drain();
    sample_for(&burner, 0.3);
    ck_assert_uint_eq(got.ends[UNWIND_END_ROOT], 0);
    ck_assert_uint_gt(got.weight[set], 10);
    sampler_put_process(sampler, burner.pid, NULL);
    end_burner(&burner);
}
END_TEST

START_TEST(refuses_a_depth_that_it_cannot_have)
{
    static const uint32_t DEPTHS[] = { 0, SAMPLE_USER_MIN - 1, SAMPLE_USER_MAX + 1, UINT32_MAX };
    struct sampler *none = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(DEPTHS); i++) {
        ck_assert_int_eq(sampler_new(-1, RING_BYTES, DEPTHS[i], &none, &err), -EINVAL);
        ck_assert_ptr_null(none);
        ck_assert(err.msg[0]);
    }
}
END_TEST

/* Inside a pid namespace with another one in it, both have the numbers that the outer one sees. */
START_TEST(numbers_of_a_pid_namespace)
{
    pid_t outer = fork_into(CLONE_NEWPID); /* pid 1 of the outer namespace: this sampler */
    int status;

    ck_assert_int_ge(outer, 0);
    if (outer == 0) {
        struct burner inner;
        uint32_t set;
        _cleanup_close_ int ns = open("/proc/thread-self/ns/pid", O_RDONLY | O_CLOEXEC);

        if (getpid() != 1)
            _exit(2);
        inner = start_burner_in(CLONE_NEWPID); /* pid 1 of the inner namespace, 2 outside */
        if (ns < 0)
            _exit(3);
        teardown();
        open_sampler(ns);
        if (start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err) < 0)
            _exit(4);
        if (sampler_filter_process(sampler, inner.pid, 1U << set) < 0)
            _exit(5);
        sample_for(&inner, 0.3);
        if (inner.pid != 2 || got.tid != 2 || got.weight[set] < 10 || got.others)
            _exit(6);
        /* All processes: those outside are counted, but not shown. */
        sampler_filter_process(sampler, inner.pid, 0);
        sampler_filter_all(sampler, 1U << set);
        sample_for(&inner, 0.3);
        if (got.weight[set] < 10)
            _exit(7);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(outer, &status, 0), outer);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "inside: %x", status);
}
END_TEST

static const struct {
    const char *text;
    int r;
    uint32_t last;
} CPU_LISTS[] = {
    { "0\n", 1, 0 },       { "0-3\n", 4, 3 },          { "0,2,4-5\n", 4, 5 },
    { "", 0, 0 },          { "3-1", -EBADMSG, 0 },     { "x", -EBADMSG, 0 },
    { "0-", -EBADMSG, 0 }, { "1-99999", -EBADMSG, 0 }, { "1 2", -EBADMSG, 0 },
};

START_TEST(parses_cpu_lists)
{
    static uint32_t cpus[SAMPLER_CPUS_MAX];
    int r = sampler_parse_cpus(span_of(CPU_LISTS[_i].text), cpus);

    ck_assert_int_eq(r, CPU_LISTS[_i].r);
    if (r > 0)
        ck_assert_uint_eq(cpus[r - 1], CPU_LISTS[_i].last);
}
END_TEST

int main(void)
{
    TCase *pure = tcase_create("pure"), *tc = tcase_create("kernel");

    tcase_add_loop_test(pure, parses_cpu_lists, 0, (int)ARRAY_SIZE(CPU_LISTS));
    tcase_add_test(pure, refuses_a_depth_that_it_cannot_have);
    tcase_add_test(tc, losses_are_told_by_set_and_process);
    tcase_add_test(tc, facts_of_a_sample);
    tcase_add_test(tc, filters);
    tcase_add_test(tc, takes_all_sets);
    tcase_add_test(tc, follows_processors);
    tcase_add_loop_test(tc, a_sample_counts_unloads, 0, (int)ARRAY_SIZE(COUNTS));
    tcase_add_test(tc, forgets_when_slots_begin_anew);
    tcase_add_test(tc, numbers_of_a_pid_namespace);
    return run_cases("sampler", pure, tc);
}
