/* SPDX-License-Identifier: Apache-2.0 */
/* capture/probe/moments.c: moments from the records of a JVM's probes, even if some are missing. */
#include "suite.h"

#include "capture/probe/moments.h"

/* A record, and the moment that it completes; kind MOMENT_SORTS: none. */
struct step {
    enum moment_kind kind;
    uint64_t time_ns;
    const char *name;
    struct moment over;
};

#define NOTHING                                                                                    \
    {                                                                                              \
        .kind = MOMENT_SORTS                                                                       \
    }
#define OVER(kind_, start, end, reach, name_)                                                      \
    {                                                                                              \
        .kind = MOMENT_IS_##kind_, .start_ns = (start), .end_ns = (end), .reach_ns = (reach),      \
        .name = (name_)                                                                            \
    }

static void run(const struct step *steps, size_t count, uint64_t unpaired)
{
    struct moment_source t = { 0 };
    uint64_t got = 0;

    for (size_t i = 0; i < count; i++) {
        struct moment_record rec = { .time_ns = steps[i].time_ns, .kind = steps[i].kind };
        const struct moment *over = &steps[i].over;
        struct moment m = { 0 };
        bool is_over;

        snprintf(rec.name, sizeof(rec.name), "%s", steps[i].name ? steps[i].name : "");
        is_over = moments_pair(&t, &rec, &m, &got);
        ck_assert_int_eq(is_over, over->kind != MOMENT_SORTS);
        if (!is_over)
            continue;
        ck_assert_int_eq(m.kind, over->kind);
        ck_assert_uint_eq(m.start_ns, over->start_ns);
        ck_assert_uint_eq(m.end_ns, over->end_ns);
        ck_assert_uint_eq(m.reach_ns, over->reach_ns);
        ck_assert_str_eq(m.name, over->name);
    }
    ck_assert_uint_eq(got, unpaired);
}

START_TEST(a_collection)
{
    static const struct step STEPS[] = {
        { MOMENT_SAFEPOINT_BEGIN, 100, "", NOTHING },
        { MOMENT_OPERATION_BEGIN, 130, "G1Collect", NOTHING },
        { MOMENT_GC_BEGIN, 140, "", NOTHING },
        { MOMENT_COLLECTOR, 150, "G1 Young Generation", NOTHING },
        { MOMENT_COLLECTOR, 151, "G1 Old Generation", NOTHING },
        { MOMENT_GC_END, 160, "", OVER(GC, 140, 160, 0, "G1 Old Generation") },
        { MOMENT_OPERATION_END, 170, "", OVER(OPERATION, 130, 170, 0, "G1Collect") },
        /* an operation that waited for the same safepoint */
        { MOMENT_OPERATION_BEGIN, 171, "Second", NOTHING },
        { MOMENT_OPERATION_END, 175, "", OVER(OPERATION, 171, 175, 0, "Second") },
        { MOMENT_SAFEPOINT_END, 180, "", OVER(SAFEPOINT, 100, 180, 30, "G1Collect") },
        { MOMENT_COLLECTOR, 190, "of nothing", NOTHING },
        /* outside of safepoints */
        { MOMENT_OPERATION_BEGIN, 200, "Handshake", NOTHING },
        { MOMENT_OPERATION_END, 210, "", OVER(OPERATION, 200, 210, 0, "Handshake") },
        { MOMENT_SAFEPOINT_BEGIN, 300, "", NOTHING },
        { MOMENT_SAFEPOINT_END, 310, "", OVER(SAFEPOINT, 300, 310, 10, "") },
    };

    run(STEPS, ARRAY_SIZE(STEPS), 0);
}
END_TEST

START_TEST(operations_in_operations)
{
    struct moment_source t = { 0 };
    struct moment m;
    uint64_t unpaired = 0;

    for (uint64_t i = 1; i <= 10; i++) {
        struct moment_record rec = { .time_ns = i, .kind = MOMENT_OPERATION_BEGIN };

        ck_assert(!moments_pair(&t, &rec, &m, &unpaired));
    }
    for (uint64_t i = 10; i >= 1; i--) {
        struct moment_record rec = { .time_ns = 100 - i, .kind = MOMENT_OPERATION_END };

        ck_assert_int_eq(moments_pair(&t, &rec, &m, &unpaired), i <= MOMENTS_NESTED_MAX);
        if (i <= MOMENTS_NESTED_MAX)
            ck_assert_uint_eq(m.start_ns, i);
    }
    ck_assert_uint_eq(unpaired, 0);
}
END_TEST

START_TEST(lost_records)
{
    static const struct step STEPS[] = {
        { MOMENT_OPERATION_END, 10, "", NOTHING },
        { MOMENT_SAFEPOINT_END, 11, "", NOTHING },
        { MOMENT_GC_END, 12, "", NOTHING },
        { MOMENT_SAFEPOINT_BEGIN, 20, "", NOTHING },
        { MOMENT_OPERATION_BEGIN, 30, "First", NOTHING },
        { MOMENT_SAFEPOINT_BEGIN, 40, "", NOTHING }, /* both ends are missing */
        { MOMENT_OPERATION_BEGIN, 50, "Second", NOTHING },
        { MOMENT_OPERATION_END, 60, "", OVER(OPERATION, 50, 60, 0, "Second") },
        { MOMENT_SAFEPOINT_END, 70, "", OVER(SAFEPOINT, 40, 70, 10, "Second") },
        { MOMENT_SAFEPOINT_END, 71, "", NOTHING },
        { MOMENT_GC_BEGIN, 80, "", NOTHING },
        { MOMENT_GC_END, 79, "", NOTHING }, /* a wrong clock */
    };

    run(STEPS, ARRAY_SIZE(STEPS), 5);
}
END_TEST

/* Adds a record of thread @tid. Returns true if it completes a moment, *ret. */
static bool tell(struct moment_source *t, enum moment_kind kind, uint32_t tid, uint64_t time_ns,
                 struct moment *ret, uint64_t *unpaired)
{
    static struct moment_record rec; /* the moment's name points into it */

    rec = (struct moment_record){ .kind = kind, .host_tid = tid, .time_ns = time_ns, .name = "c2" };
    return moments_pair(t, &rec, ret, unpaired);
}

START_TEST(compilations_of_several_threads)
{
    struct moment_source t = { 0 };
    struct moment m;
    uint64_t unpaired = 0;

    ck_assert(!tell(&t, MOMENT_COMPILE_END, 8, 5, &m, &unpaired)); /* it began before the probes */
    ck_assert(!tell(&t, MOMENT_COMPILE_BEGIN, 7, 10, &m, &unpaired));
    ck_assert(!tell(&t, MOMENT_COMPILE_BEGIN, 8, 20, &m, &unpaired));
    ck_assert(tell(&t, MOMENT_COMPILE_END, 7, 30, &m, &unpaired));
    ck_assert_int_eq(m.kind, MOMENT_IS_JIT);
    ck_assert_uint_eq(m.start_ns, 10);
    ck_assert_uint_eq(m.end_ns, 30);
    ck_assert_int_eq(m.host_tid, 7);
    ck_assert_str_eq(m.name, "c2");
    ck_assert(!tell(&t, MOMENT_COMPILE_END, 7, 31, &m, &unpaired));
    ck_assert(tell(&t, MOMENT_COMPILE_END, 8, 40, &m, &unpaired));
    ck_assert_uint_eq(m.start_ns, 20);
    ck_assert_uint_eq(unpaired, 2);
    for (uint32_t i = 1; i <= MOMENTS_COMPILERS_MAX + 1; i++) /* one too many */
        ck_assert(!tell(&t, MOMENT_COMPILE_BEGIN, i, 100 + i, &m, &unpaired));
    ck_assert(!tell(&t, MOMENT_COMPILE_END, 1, 300, &m, &unpaired));
    ck_assert(tell(&t, MOMENT_COMPILE_END, 2, 301, &m, &unpaired));
    ck_assert_uint_eq(m.start_ns, 102);
}
END_TEST

START_TEST(classes_take_no_time)
{
    struct moment_source t = { 0 };
    struct moment m;
    uint64_t unpaired = 0;

    ck_assert(tell(&t, MOMENT_CLASS_LOADED, 7, 10, &m, &unpaired));
    ck_assert_int_eq(m.kind, MOMENT_IS_CLASS_LOAD);
    ck_assert(m.start_ns == 10 && m.end_ns == 10 && m.host_tid == 7);
    ck_assert(tell(&t, MOMENT_CLASS_UNLOADED, 7, 11, &m, &unpaired));
    ck_assert_int_eq(m.kind, MOMENT_IS_CLASS_UNLOAD);
    ck_assert_uint_eq(unpaired, 0);
}
END_TEST

START_TEST(what_comes_too_often_is_noted)
{
    struct moment_source one = { .entry = { .id = { .host_pid = 42 }, .set = PROBE_NO_SET } },
                         *t = &one;
    struct moments all = { .table = { .first = &one.entry, .count = 1 } };
    const struct proc_id other = { .host_pid = 43 };
    struct moment m;
    uint64_t unpaired = 0;

    ck_assert_uint_eq(moments_often(&all, &t->entry.id), 0);
    ck_assert(!tell(t, MOMENT_OFTEN_CLASSES, 7, 10, &m, &unpaired));
    ck_assert_uint_eq(moments_often(&all, &t->entry.id), 1U << MOMENT_GROUP_CLASSES);
    ck_assert(!tell(t, MOMENT_OFTEN_COMPILED, 7, 10, &m, &unpaired));
    ck_assert_uint_eq(moments_often(&all, &t->entry.id),
                      1U << MOMENT_GROUP_CLASSES | 1U << MOMENT_GROUP_COMPILED);
    ck_assert_uint_eq(moments_often(&all, &other), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("moments");

    tcase_add_test(tc, a_collection);
    tcase_add_test(tc, operations_in_operations);
    tcase_add_test(tc, lost_records);
    tcase_add_test(tc, compilations_of_several_threads);
    tcase_add_test(tc, classes_take_no_time);
    tcase_add_test(tc, what_comes_too_often_is_noted);
    return suite_run_case("moments", tc);
}
