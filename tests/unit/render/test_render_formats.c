/* SPDX-License-Identifier: Apache-2.0 */
/*
 * render/: formats that are made from samples, with made-up profiles (tests/formats/made.c).
 * tests/formats feeds them to other programs. This test checks what no program would report.
 */
#include "suite.h"

#include "base/cleanup.h"
#include "render/jfr/jfr.h"
#include "render/proto/otlp.pb-c.h"
#include "render/proto/pprof.pb-c.h"
#include "render/proto/stacks.h"
#include "tests/formats/made.h"

#include <zlib.h>

static struct profile *profile;
static struct view *view;

static void make(const char *name, struct view_opts opts)
{
    struct error err = ERROR_NULL;

    view_free(view);
    view = NULL;
    profile_unref(profile);
    profile = made_profile(name);
    ck_assert_ptr_nonnull(profile);
    opts.exact = opts.keep_lines = true;
    ck_assert_msg(view_new(profile, &opts, &view, &err) == 0, "%s", err.msg);
}

static void teardown(void)
{
    view = view_free(view);
    profile = profile_unref(profile);
}

static struct span render(const char *format, struct buf *out)
{
    const struct render_format *f = render_format_find(span_of(format));
    struct render_opts o = { .version = "1.2.3" };
    struct error err = ERROR_NULL;

    ck_assert_ptr_nonnull(f);
    buf_init(out, RENDER_MAX_BYTES);
    ck_assert_msg(f->render(view, &o, out, &err) == 0, "%s: %s", format, err.msg);
    return buf_span(out);
}

static const char *const CASES[] = { "mixed", "single", "hostile", "empty" };

START_TEST(every_format_takes_every_case)
{
    size_t n;
    const struct render_format *formats = render_formats(&n);

    for (size_t c = 0; c < ARRAY_SIZE(CASES); c++) {
        make(CASES[c], (struct view_opts){ .threads = _i & 1, .depth = _i & 2 ? 3 : 0 });
        for (size_t i = 0; i < n; i++) {
            _cleanup_buf_ struct buf out = BUF_NULL, again = BUF_NULL;
            struct span a = render(formats[i].name, &out), b = render(formats[i].name, &again);

            ck_assert_msg(span_eq(a, b), "%s of %s differs", formats[i].name, CASES[c]);
        }
    }
}
END_TEST

START_TEST(the_ceiling_is_an_error_with_a_sentence)
{
    size_t n;
    const struct render_format *formats = render_formats(&n);

    make("mixed", (struct view_opts){ 0 });
    for (size_t i = 0; i < n; i++) {
        _cleanup_buf_ struct buf whole = BUF_NULL;
        size_t bytes = render(formats[i].name, &whole).n;

        for (size_t max = 1; max < bytes; max += MAX(bytes / 7, (size_t)1)) {
            _cleanup_buf_ struct buf out = BUF_NULL;
            struct render_opts o = { .version = "1.2.3" };
            struct error err = ERROR_NULL;

            buf_init(&out, max);
            ck_assert_msg(formats[i].render(view, &o, &out, &err) == -EFBIG, "%s at %zu of %zu",
                          formats[i].name, max, bytes);
            ck_assert_ptr_nonnull(strstr(err.msg, "larger than"));
        }
    }
}
END_TEST

START_TEST(an_exact_view_places_each_sample)
{
    uint64_t sum[64] = { 0 };
    struct match *exclude = NULL;
    const char *pattern = "Orders";
    size_t left_out = 0;

    make("mixed", (struct view_opts){ 0 });
    ck_assert_uint_le(view->row_count, ARRAY_SIZE(sum));
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct view_row *row;
        uint32_t stack = profile->samples[i].stack;

        ck_assert_uint_lt(view->sample_rows[i], view->row_count);
        row = &view->rows[view->sample_rows[i]];
        sum[view->sample_rows[i]] += profile->samples[i].count;
        for (uint32_t k = row->n; k > 0 && stack; k--, stack = profile->stacks[stack].parent) {
            const struct view_frame *f = &view->frames[view->stack[row->first + k - 1]];

            ck_assert_uint_eq(f->frame, profile->stacks[stack].frame);
            ck_assert_uint_eq(f->line, profile->frames[f->frame].line);
        }
        ck_assert_uint_eq(stack, 0);
    }
    for (size_t r = 0; r < view->row_count; r++)
        ck_assert_uint_eq(sum[r], view->rows[r].samples);
    ck_assert_int_eq(match_new(&pattern, 1, "exclude", &exclude, NULL), 0);
    make("mixed", (struct view_opts){ .exclude = exclude, .depth = 2 });
    match_free(exclude);
    memset(sum, 0, sizeof(sum));
    for (size_t i = 0; i < profile->sample_count; i++) {
        if (view->sample_rows[i] == VIEW_NO_ROW)
            left_out += profile->samples[i].count;
        else
            sum[view->sample_rows[i]] += profile->samples[i].count;
    }
    ck_assert_uint_gt(left_out, 0);
    ck_assert_uint_eq(left_out + view->samples, profile->total);
    for (size_t r = 0; r < view->row_count; r++) /* rows that depth= made equal are merged */
        ck_assert_uint_eq(sum[r], view->rows[r].samples);
}
END_TEST

/* Returns how many numbers list @name of a page has; 0: no such list. */
static size_t count_numbers(struct span page, const char *name)
{
    char key[32];
    const char *at;
    size_t n = 1;

    snprintf(key, sizeof(key), "\"%s\":[", name);
    at = memmem(page.p, page.n, key, strlen(key));
    for (at = at ? at + strlen(key) : NULL; at && *at != ']'; at++)
        n += *at == ',';
    return at ? n : 0;
}

START_TEST(a_heat_map_has_the_length_of_each_wait)
{
    _cleanup_buf_ struct buf before = BUF_NULL, after = BUF_NULL, rare = BUF_NULL;
    struct span page;

    make("single", (struct view_opts){ 0 });
    page = render("heatmap", &before);
    ck_assert_uint_gt(count_numbers(page, "times"), 0);
    ck_assert_uint_eq(count_numbers(page, "spans"), 0); /* CPU samples have no time span */
    profile->events[0].valued = true;
    snprintf(profile->events[0].unit, sizeof(profile->events[0].unit), "nanoseconds");
    for (size_t i = 0; i < profile->sample_count; i++)
        profile->samples[i].value = 7654000 * profile->samples[i].count;
    page = render("heatmap", &after);
    ck_assert_uint_eq(count_numbers(page, "spans"), profile->sample_count);
    ck_assert_ptr_nonnull(memmem(page.p, page.n, "\"spans\":[7654", 13));
    ck_assert_uint_eq(count_numbers(page, "stands"), 0);
    profile->samples[0].stands = 2;
    page = render("heatmap", &rare);
    ck_assert_ptr_nonnull(memmem(page.p, page.n, "\"spans\":[3827,7654,", 19));
    ck_assert_ptr_nonnull(memmem(page.p, page.n, "\"stands\":[2,1,", 14));
}
END_TEST

START_TEST(only_what_was_inlined_shares_a_location)
{
    _cleanup_(stacks_deinit) struct stacks s = { 0 };
    size_t java = 0, native = 0;

    make("mixed", (struct view_opts){ 0 });
    ck_assert_int_eq(stacks_init(&s, view, /* owners= */ false, STACKS_NO_REQUESTS), 0);
    for (size_t r = 0; r < view->row_count; r++) {
        _cleanup_free_ uint32_t *locations = calloc(s.longest, sizeof(*locations));
        size_t n = stacks_get(&s, s.stack_of_row[r], locations);
        uint32_t at = view->rows[r].n;

        for (size_t i = 0; i < n; i++) { /* leaf first: the frames come back in the same order */
            for (uint32_t node = stacks_innermost(&s, locations[i]); node != STACKS_NONE;) {
                const struct view_frame *f = &view->frames[view->stack[view->rows[r].first + --at]];
                const struct stacks_place *place = stacks_node_place(&s, node);

                ck_assert_uint_eq(place->line, f->line);
                ck_assert_uint_eq(stacks_function(&s, place->function)->name, f->name);
                node = stacks_node(&s, node)->caller;
                if (node == STACKS_NONE)
                    continue;
                ck_assert(f->kind == FRAME_INLINED || f->kind == FRAME_NATIVE_INLINED);
                *(f->kind == FRAME_INLINED ? &java : &native) += 1;
            }
        }
        ck_assert_uint_eq(at, 0);
    }
    ck_assert_uint_ge(java, 4);
    ck_assert_uint_ge(native, 3);
}
END_TEST

START_TEST(pprof_is_one_message_with_whole_references)
{
    static unsigned char raw[1 << 20];
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct span gz;
    z_stream z = { 0 };
    Pprof__Profile *p;
    uint64_t samples = 0;

    make("mixed", (struct view_opts){ 0 });
    gz = render("pprof", &out);
    ck_assert_uint_eq((unsigned char)gz.p[0], 0x1f);
    ck_assert_mem_eq(gz.p + 4, "\0\0\0\0", 4); /* no time: the bytes never differ */
    z.next_in = (unsigned char *)gz.p;
    z.avail_in = (unsigned)gz.n;
    z.next_out = raw;
    z.avail_out = sizeof(raw);
    ck_assert_int_eq(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    p = pprof__profile__unpack(NULL, z.total_out, raw);
    inflateEnd(&z);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(p->n_sample_type, 2);
    ck_assert_str_eq(p->string_table[0], "");
    ck_assert_str_eq(p->string_table[p->sample_type[0]->type], "samples");
    ck_assert_str_eq(p->string_table[p->sample_type[1]->type], "cpu");
    for (size_t i = 0; i < p->n_sample; i++) {
        samples += (uint64_t)p->sample[i]->value[0];
        ck_assert_uint_gt(p->sample[i]->n_location_id, 0);
        for (size_t k = 0; k < p->sample[i]->n_location_id; k++)
            ck_assert_uint_le(p->sample[i]->location_id[k] - 1, p->n_location - 1);
    }
    ck_assert_uint_eq(samples, profile->total);
    for (size_t i = 0; i < p->n_location; i++) {
        ck_assert_uint_eq(p->location[i]->id, i + 1);
        ck_assert_uint_le(p->location[i]->mapping_id, p->n_mapping);
        for (size_t k = 0; k < p->location[i]->n_line; k++)
            ck_assert_uint_le(p->location[i]->line[k]->function_id - 1, p->n_function - 1);
    }
    pprof__profile__free_unpacked(p, NULL);
}
END_TEST

START_TEST(descriptors_are_well_formed)
{
    static const struct {
        const char *signature, *descriptor;
    } CASE[] = {
        { "", "()V" },
        { "()", "()V" },
        { "(int)", "(I)V" },
        { "(int, java.lang.String)", "(ILjava/lang/String;)V" },
        { "(byte[], long[][], a.B$C[])", "([B[[J[La/B$C;)V" },
        { "(boolean,char,short,float,double)", "(ZCSFD)V" },
        { "(int,,;x)", "(IL_;L_x;)V" },
        { "(((", "(L__;)V" },
        { "([]", "([L_;)V" },
        { ")", "()V" },
        { "\xe6\xb3\xa8", "(L\xe6\xb3\xa8;)V" },
    };
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 1000);
    jfr_add_descriptor(&out, span_of(CASE[_i].signature));
    ck_assert_str_eq(out.p, CASE[_i].descriptor);
}
END_TEST

START_TEST(jfr_numbers_end_with_a_whole_byte)
{
    static const struct {
        uint64_t number;
        const char *bytes;
        size_t n;
    } CASE[] = {
        { 0, "\0", 1 },
        { 127, "\x7f", 1 },
        { 128, "\x80\x01", 2 },
        { UINT32_MAX, "\xff\xff\xff\xff\x0f", 5 },
        { UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9 },
        { UINT64_C(1) << 63, "\x80\x80\x80\x80\x80\x80\x80\x80\x80", 9 },
    };
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 100);
    jfr_add_number(&out, CASE[_i].number);
    ck_assert_uint_eq(out.n, CASE[_i].n);
    ck_assert_mem_eq(out.p, CASE[_i].bytes, out.n);
}
END_TEST

START_TEST(jfr_events_fill_the_chunk)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    uint64_t size = 0, samples = 0;
    struct span s;

    make("mixed", (struct view_opts){ 0 });
    s = render("jfr", &out);
    for (size_t i = 0; i < 8; i++)
        size = size << 8 | (unsigned char)s.p[8 + i];
    ck_assert_uint_eq(size, s.n);
    s = span_from(s, 68);
    while (s.n) { /* each event's size leads to the next */
        uint64_t bytes = 0;
        size_t i = 0;

        do
            bytes |= (uint64_t)(s.p[i] & 0x7f) << (7 * i);
        while (s.p[i++] & 0x80);
        ck_assert_uint_le(bytes, s.n);
        ck_assert_uint_gt(bytes, i);
        samples += s.p[i] == JFR_EXECUTION_SAMPLE;
        s = span_from(s, bytes);
    }
    ck_assert_uint_eq(samples, profile->total);
}
END_TEST

START_TEST(otlp_is_one_message_with_one_dictionary)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    Otlp__ProfilesData *d;
    struct span s;

    make("mixed", (struct view_opts){ 0 });
    s = render("otlp", &out);
    d = otlp__profiles_data__unpack(NULL, s.n, (const uint8_t *)s.p);
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->n_resource_profiles, 2);
    ck_assert_uint_eq(d->resource_profiles[0]->n_scope_profiles, 1);
    ck_assert_ptr_nonnull(d->dictionary);
    for (size_t i = 0; i < d->dictionary->n_stack_table; i++) {
        const Otlp__Stack *stack = d->dictionary->stack_table[i];

        ck_assert((stack->n_location_indices == 0) == (i == 0));
        for (size_t k = 0; k < stack->n_location_indices; k++)
            ck_assert_uint_lt((size_t)stack->location_indices[k], d->dictionary->n_location_table);
    }
    otlp__profiles_data__free_unpacked(d, NULL);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("render_formats");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_loop_test(tc, every_format_takes_every_case, 0, 4);
    tcase_add_test(tc, the_ceiling_is_an_error_with_a_sentence);
    tcase_add_test(tc, an_exact_view_places_each_sample);
    tcase_add_test(tc, a_heat_map_has_the_length_of_each_wait);
    tcase_add_test(tc, only_what_was_inlined_shares_a_location);
    tcase_add_test(tc, pprof_is_one_message_with_whole_references);
    tcase_add_loop_test(tc, descriptors_are_well_formed, 0, 11);
    tcase_add_loop_test(tc, jfr_numbers_end_with_a_whole_byte, 0, 6);
    tcase_add_test(tc, jfr_events_fill_the_chunk);
    tcase_add_test(tc, otlp_is_one_message_with_one_dictionary);
    return suite_run_case("render_formats", tc);
}
