/* SPDX-License-Identifier: Apache-2.0 */
/* attach/deferred_frames.h: where a place gets its name from (memory or the agent), and the names
 * in a profile then. */
#include "suite.h"

#include "attach/deferred_frames.h"
#include "base/cleanup.h"
#include "stream_writer.h"
#include "symbolize/java.h"
#include "symbolize/java_function.h"
#include "symbolize/perf_map.h"
#include "unwind/unwind.h"

#define WORD(kind, pc) ((uint64_t)(kind) << UNWIND_KIND_SHIFT | (pc))
#define NOW UINT64_C(5000000000)

static struct frame_table *table;
static struct deferred *later;

static uint32_t memory_frame(const char *class_name, const char *name, enum frame_kind kind)
{
    struct java_function_text text = { .class_name = span_of(class_name), .name = span_of(name) };
    struct frame f = { .function = java_function_id(table, &text), .kind = (uint8_t)kind };
    uint32_t id;

    ck_assert_int_eq(frame_table_frame(table, &f, &id), 0);
    return id;
}

static void setup(void)
{
    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &table), 0);
    ck_assert_int_eq(deferred_new(table, /* owner= */ 1, &later), 0);
    deferred_set_time(later, NOW);
}

static void teardown(void)
{
    deferred_free(later);
    frame_table_free(table);
}

/* Returns the frames of place @id, as "a.A.f,b.B.g". */
static const char *names_of(uint32_t id)
{
    static char text[256];
    uint32_t frames[RECORD_LATER_FRAMES_MAX];
    size_t count = deferred_resolve(later, id - RECORD_LATER, frames), n = 0;

    text[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const struct frame *f = frame_table_get(table, frames[i]);
        const struct function *fn = frame_table_get_function(table, f->function);
        struct span c = frame_table_get_string(table, fn->class_name),
                    m = frame_table_get_string(table, fn->name);

        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s%s%.*s/%d", i ? "," : "", (int)c.n,
                              c.p, c.n ? "." : "", (int)m.n, m.p, f->kind);
    }
    return text;
}

static void add_stub(struct writer *w, uint64_t address, const char *name)
{
    size_t n = strlen(name);
    struct stream_stub *stub = add(w, STREAM_STUB, 0, 1, sizeof(*stub) + n);

    stub->address = address;
    stub->code_bytes = 0x100;
    stub->name_n = (uint32_t)n;
    memcpy(stub + 1, name, n);
}

/* 0x1000: method A.f at two times; 0x2000: a stub; 0x3000: B.g; 0x4000: adapters. */
static struct code_map *agent(void)
{
    struct writer w = { .n = 0 };

    add_method(&w, 1, "La/A;", "f", NULL, 0);
    add_method(&w, 2, "Lb/B;", "g", NULL, 0);
    add_load(&w, 1, 0x1000, 0x100, 1);
    add_load(&w, 2, 0x3000, 0x100, 2);
    add_stub(&w, 0x2000, "checksum");
    add_stub(&w, 0x4000, "I2C/C2I adapters");
    return fed(&w, 0);
}

START_TEST(who_names_what)
{
    static const struct {
        enum unwind_kind kind;
        uint64_t pc;
        const char *class_name, *name; /* the names in memory; NULL: none */
        enum frame_kind memory;
        const char *with, *without; /* the names with and without an agent */
    } CASES[] = {
        { UNWIND_COMPILED, 0x1010, "a.A", "f", FRAME_C1, "a.A.f/2", "a.A.f/2" },
        { UNWIND_COMPILED, 0x1010, "x.X", "x", FRAME_C1, "a.A.f/2", "x.X.x/2" },
        { UNWIND_COMPILED, 0x1010, NULL, NULL, 0, "a.A.f/1", "/0" },
        { UNWIND_COMPILED, 0x9000, "x.X", "x", FRAME_C2, "x.X.x/1", "x.X.x/1" },
        { UNWIND_COMPILED, 0x9000, NULL, NULL, 0, "/0", "/0" },
        { UNWIND_STUB, 0x2010, "", "StubRoutines (1)", FRAME_STUB, "checksum/7",
          "StubRoutines (1)/7" },
        { UNWIND_STUB, 0x4010, "", "I2C adapter", FRAME_STUB, "I2C adapter/7", "I2C adapter/7" },
        { UNWIND_STUB, 0x3010, "", "adapters", FRAME_STUB, "adapters/7", "adapters/7" },
    };
    _cleanup_(code_map_freep) struct code_map *map = agent();
    struct deferred_source with = { .map = map }, without = { 0 };
    uint32_t frame =
        CASES[_i].name ? memory_frame(CASES[_i].class_name, CASES[_i].name, CASES[_i].memory) : 0;
    uint32_t id = deferred_add(later, WORD(CASES[_i].kind, CASES[_i].pc), false, &frame,
                               CASES[_i].name ? 1 : 0);

    ck_assert_uint_ge(id, RECORD_LATER);
    deferred_decide(later, &with);
    ck_assert_str_eq(names_of(id), CASES[_i].with);
    deferred_decide(later, &without);
    ck_assert_str_eq(names_of(id), CASES[_i].without);
    ck_assert_str_eq(names_of(id), CASES[_i].without); /* the first decision stays */
}
END_TEST

/* The most frames of one pc: the outermost method is the last. */
START_TEST(keeps_the_outermost_method)
{
    struct deferred_source none = { 0 };
    uint32_t frames[JAVA_EXPAND_MAX], got[RECORD_LATER_FRAMES_MAX], id;

    for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
        frames[i] = memory_frame("a.A", i + 1 < ARRAY_SIZE(frames) ? "f" : "g", FRAME_C2);
    id = deferred_add(later, WORD(UNWIND_COMPILED, 0x9000), false, frames, ARRAY_SIZE(frames));
    deferred_decide(later, &none);
    ck_assert_uint_eq(deferred_resolve(later, id - RECORD_LATER, got), ARRAY_SIZE(frames));
    ck_assert_uint_eq(got[ARRAY_SIZE(frames) - 1], frames[ARRAY_SIZE(frames) - 1]);
}
END_TEST

START_TEST(both_are_compared)
{
    _cleanup_(code_map_freep) struct code_map *map = agent();
    struct deferred_source s = { .map = map };
    uint32_t same = memory_frame("a.A", "f", FRAME_C2), other = memory_frame("x.X", "x", FRAME_C2);
    uint32_t ids[] = {
        deferred_add(later, WORD(UNWIND_COMPILED, 0x1010), false, &same, 1),
        deferred_add(later, WORD(UNWIND_COMPILED, 0x1020), false, &other, 1),
        deferred_add(later, WORD(UNWIND_COMPILED, 0x3010), false, NULL, 0),
    };

    deferred_decide(later, &s);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        names_of(ids[i]);
    ck_assert_uint_eq(deferred_stats(later).both, 2);
    ck_assert_uint_eq(deferred_stats(later).same, 1);
    ck_assert_uint_eq(deferred_stats(later).added, 1);
    /* The same place again is not new. After a decision there is room for new places. */
    ck_assert_uint_eq(deferred_add(later, WORD(UNWIND_COMPILED, 0x1010), false, &same, 1), ids[0]);
    ck_assert_uint_eq(deferred_add(later, WORD(UNWIND_COMPILED, 0x1030), false, &same, 1),
                      RECORD_LATER + 3);
    deferred_decide(later, &s);
    ck_assert_str_eq(names_of(ids[1]), "a.A.f/1");
    ck_assert_str_eq(names_of(RECORD_LATER + 3), "a.A.f/1");
}
END_TEST

/* The agent knows no loops. If the loop around a place says otherwise, that counts, unless memory
 * means other code. */
START_TEST(loops_are_memorys)
{
    static const struct {
        enum frame_leaf leaf;
        const char *outer, *names; /* the compiled method in memory; the names then */
        uint32_t both, loops;
    } CASES[] = {
        { FRAME_LEAF_RECORDED, "f", "a.A.f/1", 1, 0 },
        { FRAME_LEAF_INFERRED, "f", "b.B.g/3,a.A.f/1", 0, 1 },
        { FRAME_LEAF_UNSURE, "f", "b.B.g/3,a.A.f/1", 0, 1 },
        { FRAME_LEAF_INFERRED, "other", "a.A.f/1", 1, 0 },
    };
    _cleanup_(code_map_freep) struct code_map *map = agent();
    struct deferred_source s = { .map = map };
    struct frame inner = *frame_table_get(table, memory_frame("b.B", "g", FRAME_INLINED));
    uint32_t frames[2] = { 0, memory_frame("a.A", CASES[_i].outer, FRAME_C2) }, id;

    inner.leaf = (uint8_t)CASES[_i].leaf;
    ck_assert_int_eq(frame_table_frame(table, &inner, &frames[0]), 0);
    id = deferred_add(later, WORD(UNWIND_COMPILED, 0x1010), false, frames, 2);
    deferred_decide(later, &s);
    ck_assert_str_eq(names_of(id), CASES[_i].names);
    ck_assert_uint_eq(deferred_stats(later).both, CASES[_i].both);
    ck_assert_uint_eq(deferred_stats(later).same, 0);
    ck_assert_uint_eq(deferred_stats(later).loops, CASES[_i].loops);
}
END_TEST

/* An agent that reports more code at an address than is looked at: memory's name stays, and counts.
 */
START_TEST(too_much_code_is_counted)
{
    _cleanup_(code_map_freep) struct code_map *map = agent();
    struct deferred_source s = { .map = map };
    uint32_t frame = memory_frame("x.X", "x", FRAME_C2), id;

    for (uint32_t i = 0; i <= CODE_MAP_WALK_MAX; i += 512) {
        struct writer w = { .n = 0 };

        for (uint32_t k = 0; k < 512; k++)
            add_load(&w, 10 + i + k, 0x1000, 0x100, 1);
        ck_assert_int_eq(code_map_feed(map, (struct span){ w.bytes, w.n }), 0);
    }
    id = deferred_add(later, WORD(UNWIND_COMPILED, 0x1010), false, &frame, 1);
    deferred_decide(later, &s);
    ck_assert_str_eq(names_of(id), "x.X.x/1");
    ck_assert_uint_eq(deferred_stats(later).given_up, 1);
}
END_TEST

/* The interpreter's own code already has a name. */
START_TEST(the_interpreter_is_let_be)
{
    uint32_t frame = memory_frame("", "Interpreter", FRAME_STUB),
             codelet = memory_frame("", "Interpreter (iload)", FRAME_STUB);

    ck_assert_uint_eq(deferred_add(later, WORD(UNWIND_STUB, 0x2010), false, &frame, 1), 0);
    ck_assert_uint_eq(deferred_add(later, WORD(UNWIND_STUB, 0x2010), false, &codelet, 1), 0);
}
END_TEST

START_TEST(the_jvms_own_text)
{
    static const struct {
        uint64_t pc;
        const char *name;
    } CASES[] = {
        { 0x1010, "a.b.C.run/1" },
        { 0x2010, "StubRoutines (1)/7" },
        { 0x3010, "a.b.C$$Lambda.apply/1" },
        { 0x4010, "odd)/7" },
    };
    const char *text = "0x1000 0x100 void a.b.C.run()\n"
                       "0x2000 0x100 StubRoutines (1)\n"
                       "0x3000 0x100 java.lang.Object a.b.C$$Lambda/0x00007f0001.apply(int, "
                       "java.lang.String)\n"
                       "0x4000 0x100 odd)\n";
    _cleanup_symbol_builder_ struct symbol_builder b;
    struct symbol_table t = { 0 };
    struct deferred_source s = { .text = &t };
    uint32_t frame;

    symbol_builder_init(&b, 100, 10000);
    ck_assert_int_eq(perf_map_parse(span_of(text), &b), (int)strlen(text));
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    deferred_decide(later, &s);
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        uint32_t id = deferred_add(later, WORD(UNWIND_COMPILED, CASES[i].pc), false, NULL, 0);

        ck_assert_str_eq(names_of(id), CASES[i].name);
    }
    /* The text has one name for all stubs of a blob, so the name in memory stays. */
    frame = memory_frame("", "jint_arraycopy", FRAME_STUB);
    ck_assert_str_eq(names_of(deferred_add(later, WORD(UNWIND_STUB, 0x2010), false, &frame, 1)),
                     "jint_arraycopy/7");
    symbol_table_deinit(&t);
}
END_TEST

/* Places in a stack: each gets its frames. A sample may have been taken for named. */
START_TEST(in_a_profile)
{
    _cleanup_(code_map_freep) struct code_map *map = agent();
    struct deferred_source s = { .map = map };
    struct profile_process process = { .host_pid = 1 };
    struct profile_thread thread = { .host_tid = 2 };
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    struct record *rec = NULL;
    struct profile *p = NULL;
    uint32_t root = memory_frame("r.R", "run", FRAME_C2), t,
             known = deferred_add(later, WORD(UNWIND_COMPILED, 0x1010), false, NULL, 0),
             unknown = deferred_add(later, WORD(UNWIND_COMPILED, 0x9000), false, NULL, 0);

    ck_assert_int_eq(record_new(table, 10, &rec), 0);
    ck_assert_int_eq(record_process(rec, &process, &thread.process), 0);
    ck_assert_int_eq(record_thread(rec, &thread, &t), 0);
    record_set_later(rec, deferred_resolve, later);
    ck_assert_int_eq(
        record_sample(rec, &(struct profile_sample){ .time_ns = 1, .thread = t, .count = 1 },
                      (uint32_t[]){ known, root }, 2),
        0);
    ck_assert_int_eq(
        record_sample(rec, &(struct profile_sample){ .time_ns = 2, .thread = t, .count = 1 },
                      (uint32_t[]){ unknown, root }, 2),
        0);
    ck_assert_int_eq(
        record_sample(rec, &(struct profile_sample){ .time_ns = 3, .thread = t, .count = 1 },
                      (uint32_t[]){ root }, 1),
        0);
    deferred_decide(later, &s);
    for (int again = 0; again < 2; again++) { /* the record does not change */
        ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
        ck_assert_uint_eq(p->sample_count, 3);
        ck_assert_uint_eq(p->unknown, 1);
        ck_assert_uint_eq(p->samples[0].flags & PROFILE_SAMPLE_UNKNOWN, 0);
        ck_assert_uint_eq(p->samples[1].flags & PROFILE_SAMPLE_UNKNOWN, PROFILE_SAMPLE_UNKNOWN);
        for (int i = 0; i < 3; i++)
            ck_assert_uint_eq(p->stacks[p->samples[i].stack].depth, i < 2 ? 2 : 1);
        p = profile_unref(p);
    }
    record_free(rec);
}
END_TEST

/* Another table replaces this one: places keep their ids and names. */
START_TEST(goes_on_with_another_table)
{
    _cleanup_(code_map_freep) struct code_map *map = agent();
    struct deferred_source s = { .map = map }, none = { 0 };
    struct frame_table *fresh = NULL;
    struct rebase *b = NULL;
    uint32_t waste = memory_frame("w.W", "w", FRAME_C2), same = memory_frame("a.A", "f", FRAME_C2),
             other = memory_frame("x.X", "x", FRAME_C1), again;
    uint32_t ids[] = { deferred_add(later, WORD(UNWIND_COMPILED, 0x1010), false, &same, 1),
                       deferred_add(later, WORD(UNWIND_COMPILED, 0x9000), false, &other, 1) };

    ck_assert_uint_ne(waste, 0);
    deferred_decide(later, &s);
    names_of(ids[0]);
    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &fresh), 0);
    ck_assert_int_eq(rebase_new(table, fresh, &b), 0);
    ck_assert_int_eq(deferred_rebase_add(later, b), 0);
    deferred_rebase(later, b, fresh);
    rebase_free(b);
    frame_table_free(table);
    table = fresh;
    again = memory_frame("x.X", "x", FRAME_C1);
    ck_assert_uint_ne(again, other);
    ck_assert_uint_eq(deferred_add(later, WORD(UNWIND_COMPILED, 0x9000), false, &again, 1), ids[1]);
    deferred_decide(later, &s);
    ck_assert_str_eq(names_of(ids[0]), "a.A.f/1");
    ck_assert_str_eq(names_of(ids[1]), "x.X.x/2");
    ck_assert_uint_eq(deferred_stats(later).same, 1);
    deferred_decide(later, &none);
    ck_assert_str_eq(names_of(ids[0]), "a.A.f/1");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("later");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, who_names_what, 0, 8);
    tcase_add_test(tc, keeps_the_outermost_method);
    tcase_add_test(tc, both_are_compared);
    tcase_add_loop_test(tc, loops_are_memorys, 0, 4);
    tcase_add_test(tc, too_much_code_is_counted);
    tcase_add_test(tc, the_interpreter_is_let_be);
    tcase_add_test(tc, the_jvms_own_text);
    tcase_add_test(tc, in_a_profile);
    tcase_add_test(tc, goes_on_with_another_table);
    return suite_run_case("later", tc);
}
