/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot/leaf/ with code that real JVMs made of tests/jvm/java/Sections.java (the fuzz corpus).
 * Its sections a, b and c each have a loop that is inlined into round(). The order of the code
 * shows which one runs.
 */
#include "suite.h"

#include "base/buf.h"
#include "hotspot/code/leaf_calls.h"
#include "hotspot/leaf/bytecode.h"
#include "leaf_file.h"

#include <fcntl.h>
#include <time.h>

#define CORPUS FLAMED_TEST_DATA "/../fuzz/corpus/leaf/"

/* ---- code of real JVMs ---- */

/* Bytes of loops by the method of the innermost frame, and bytes without one. */
struct shares {
    uint32_t a, b, c, other, unsure;
};

static void count(struct shares *s, const struct leaf_file *f, const struct leaf_range *at)
{
    uint32_t n = at->end - at->start;
    const struct leaf_chain *c = at->chain == LEAF_NONE ? NULL : &f->in.chains[at->chain];

    if (at->verdict == LEAF_UNSURE) {
        s->unsure += n;
        return;
    }
    for (uint32_t i = at->drop; c && i < c->count; i++) {
        uint32_t method = f->in.frames[c->first + i].method;
        const char *name =
            f->names[i == at->drop && at->callee != LEAF_NONE ? at->callee : method].text;

        if (strcmp(name, "a") == 0)
            s->a += n;
        else if (strcmp(name, "b") == 0)
            s->b += n;
        else if (strcmp(name, "c") == 0)
            s->c += n;
        else
            continue;
        return;
    }
    s->other += n;
}

/* @other: bytes of a loop around the sections. @by_code: percent of the sections' bytes that their
 * code alone identifies. Equal bodies, and those two methods deep, are not identified. */
static const struct {
    const char *name;
    uint32_t other, by_code;
} RECORDED[] = {
    { "c1-17", 0, 100 },
    { "c1-25", 0, 100 },
    { "serial-17", 0, 100 },
    { "parallel-25", 0, 100 },
    { "g1-25", 0, 100 },
    { "pure-17", 0, 100 },
    { "pure-25", 0, 100 },
    { "equal-17", 0, 0 },
    { "requests-25", 108, 70 },
    { "requests-17", 711, 0 },
    { "lambdas-17", 191, 0 },
    /* Placed without a look at their code. */
    { "c1-17-aarch64", 0, 100 },
    { "g1-21-aarch64", 0, 100 },
    { "pure-21-aarch64", 0, 100 },
    { "parallel-25-aarch64", 0, 100 },
};

/* A recorded nmethod with its graph. */
struct recorded {
    struct buf file;
    struct leaf_file f;
    struct leaf_graph g;
};

static void recorded_open(const char *name, struct recorded *ret)
{
    char path[300];

    snprintf(path, sizeof(path), CORPUS "%s", name);
    buf_init(&ret->file, (size_t)1 << 20);
    ck_assert_msg(buf_read_at(&ret->file, AT_FDCWD, path) == 0, "%s", path);
    ck_assert(leaf_file_parse(buf_span(&ret->file), &ret->f));
    ck_assert(leaf_input_is_whole(&ret->f.in));
    ck_assert_int_eq(
        leaf_graph_make(ret->f.instructions, ret->f.in.instruction_count, &ret->f.in.ways, &ret->g),
        0);
}

static void recorded_close(struct recorded *r)
{
    leaf_graph_deinit(&r->g);
    leaf_file_deinit(&r->f);
    buf_deinit(&r->file);
}

/* A loop of 2,000 rounds is one strip: its poll lies behind it, in the loop around. */
START_TEST(finds_a_loop_by_the_poll_behind_it)
{
    struct leaf_ranges r = { 0 };
    struct shares s = { 0 };
    struct recorded of;

    recorded_open("turns-17", &of);
    ck_assert_int_eq(leaf_ranges_make(&of.f.in, &of.g, &r), 0);
    for (size_t i = 0; i < r.count; i++)
        count(&s, &of.f, &r.at[i]);
    ck_assert_uint_ge(s.a, 132);     /* its main loop and the code before it */
    ck_assert_uint_le(s.other, 102); /* the loop around */
    ck_assert_uint_le(s.unsure, 62); /* its last rounds and stubs */
    free(r.at);
    recorded_close(&of);
}
END_TEST

START_TEST(finds_the_sections)
{
    struct leaf_ranges r = { 0 };
    struct shares s = { 0 };
    struct recorded of;

    recorded_open(RECORDED[_i].name, &of);
    ck_assert_int_eq(leaf_ranges_make(&of.f.in, &of.g, &r), 0);
    for (size_t i = 0; i < r.count; i++)
        count(&s, &of.f, &r.at[i]);
    fprintf(stderr, "%s: a %u b %u c %u other %u unsure %u bytes\n", RECORDED[_i].name, s.a, s.b,
            s.c, s.other, s.unsure);
    ck_assert_uint_gt(s.a, 20);
    ck_assert_uint_gt(s.b, 20);
    ck_assert_uint_gt(s.c, 20);
    ck_assert_uint_le(s.other, RECORDED[_i].other);
    /* The stubs behind the code have loops of one jump. */
    ck_assert_uint_le(s.unsure * 100, (s.a + s.b + s.c) * 20);
    free(r.at);
    recorded_close(&of);
}
END_TEST

/* Removes from @in the records of inlined methods. */
static void drop_inlined(struct leaf_input *in, struct leaf_record *records)
{
    size_t kept = 0;

    for (size_t i = 0; i < in->record_count; i++) {
        if (in->chains[in->records[i].chain].count == 1)
            records[kept++] = in->records[i];
    }
    in->records = records;
    in->record_count = kept;
}

/* Returns the only section that contains @at; 0: none or several. */
static char section_of(const struct leaf_file *f, const struct leaf_range *at)
{
    struct shares s = { 0 };

    count(&s, f, at);
    return s.a ? 'a' : s.b ? 'b' : s.c ? 'c' : 0;
}

/* Without a record of the sections, their code identifies them, or nothing does. */
START_TEST(finds_them_by_their_code)
{
    static struct leaf_record records[LEAF_FILE_ENTRIES_MAX];
    struct leaf_ranges with = { 0 }, without = { 0 };
    uint32_t same = 0, wrong = 0, all = 0;
    struct leaf_input in;
    struct recorded of;

    recorded_open(RECORDED[_i].name, &of);
    ck_assert_int_eq(leaf_ranges_make(&of.f.in, &of.g, &with), 0);
    in = of.f.in;
    drop_inlined(&in, records);
    of.g.steps = LEAF_STEPS_MAX;
    ck_assert_int_eq(leaf_ranges_make(&in, &of.g, &without), 0);
    for (size_t i = 0; i < of.f.in.instruction_count; i++) {
        const struct leaf_instruction *at = &of.f.instructions[i];
        const struct leaf_range *a = leaf_ranges_find(&with, at->at);
        const struct leaf_range *b = leaf_ranges_find(&without, at->at);
        char want = a ? section_of(&of.f, a) : 0, got = b ? section_of(&of.f, b) : 0;

        all += want ? at->size : 0;
        same += want && want == got ? at->size : 0;
        wrong += want && got && want != got ? at->size : 0;
    }
    fprintf(stderr, "%s: %u of %u bytes by the code, %u wrong\n", RECORDED[_i].name, same, all,
            wrong);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_ge(same * 100, all * RECORDED[_i].by_code);
    free(with.at);
    free(without.at);
    recorded_close(&of);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("leaf_records");
    TCase *tc = tcase_create("leaf_records");

    tcase_add_test(tc, finds_a_loop_by_the_poll_behind_it);
    tcase_add_loop_test(tc, finds_the_sections, 0, (int)ARRAY_SIZE(RECORDED));
    tcase_add_loop_test(tc, finds_them_by_their_code, 0, (int)ARRAY_SIZE(RECORDED));
    suite_add_tcase(s, tc);
    return suite_run(s);
}
