/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/tracer_keys.c: the keys of a log's context, and their steps. */
#include "hotspot/tracer_impl.h"
#include "unwind/context_path.h"

#include "suite.h"

#define STRING UINT64_C(77) /* class word of java.lang.String */

static struct context_path path;

/* Makes the steps of the present keys behind @before others, in a map or in arrays. */
static void compile(enum tracer_form form, uint16_t before)
{
    const struct tracer_row row = { .form = form, .from = 2, .number = 3 };

    path = (struct context_path){ .step_count = before, .map_table = 12 };
    ck_assert_int_eq(tracer_keys_add(&row, STRING, &path), 0);
    ck_assert(context_path_valid(&path));
}

/* Returns the text that a walk fills from step @i on, if only the key of search @hit has a value of
 * class @class; -1: none. The value is empty if not @filled. */
static int walk(unsigned i, unsigned hit, uint64_t class, bool filled)
{
    for (; i < path.step_count; i++) {
        const struct context_step *s = &path.steps[i];
        bool good = s->op == CONTEXT_MAP || s->op == CONTEXT_KEY ? i == hit
                    : s->op == CONTEXT_CLASS                     ? s->key == class
                    : s->op == CONTEXT_TEXT                      ? filled
                                                                 : false;

        if (good && s->op == CONTEXT_TEXT)
            return (int)s->key;
        if (!good && !s->skip)
            return -1;
        i += good ? 0 : s->skip;
    }
    return -1;
}

static unsigned count(uint8_t op)
{
    unsigned n = 0;

    for (unsigned i = 0; i < path.step_count; i++)
        n += path.steps[i].op == op;
    return n;
}

START_TEST(has_keys_of_tracers)
{
    compile(FORM_MAP_KEYS, 0);
    ck_assert_uint_eq(tracer_keys_kind(), CONTEXT_IDS_LOG);
    ck_assert_uint_eq(count(CONTEXT_MAP), 6);
    ck_assert_uint_eq(path.steps[0].key, 0xc060bd40u); /* "traceId".hashCode() */
    for (unsigned hit = 0; hit < 5; hit += 2) {
        ck_assert_int_eq(walk(0, hit, STRING, true), CONTEXT_TRACE);
        ck_assert_int_eq(walk(0, hit, STRING + 1, true), -1);
        ck_assert_int_eq(walk(7, 7 + hit, STRING, true), CONTEXT_SPAN);
    }
    ck_assert_int_eq(walk(0, 7, STRING, true), -1); /* a span without a trace */
    compile(FORM_ARRAY_KEYS, 0);
    ck_assert_uint_eq(path.steps[0].key & 0xff, strlen("traceId"));
    ck_assert_uint_eq(path.steps[0].from, 2);
    ck_assert_uint_eq(path.steps[0].offset, 3);
}
END_TEST

START_TEST(needs_a_known_map)
{
    const struct tracer_row row = { .form = FORM_MAP_KEYS };

    path = (struct context_path){ 0 };
    ck_assert_int_eq(tracer_keys_add(&row, STRING, &path), -EOPNOTSUPP);
}
END_TEST

/* Texts that are no keys, and a part of the sentence. */
static const struct {
    const char *list, *words;
} WRONG[] = {
    { "traceId", "'traceId'" },
    { "trace=", "'trace='" },
    { "trace= id", "'trace= id'" },
    { "trace=a,,span=b", "''" },
    { "user=name", "'user=name'" },
    { "trace=\xc3\xa4", "is no key" },
    { "trace=abcdefghijklmnopqrstuvwxyz0123456", "at most 32 characters" },
    { "span=1,span=2,span=3,span=4,span=5,span=6,span=7,span=8,span=9,span=10,span=11,span=12,"
      "span=13,span=14,span=15,span=16,span=17",
      "16 keys" },
};

START_TEST(refuses_what_is_no_key)
{
    struct error err = ERROR_NULL;

    ck_assert_int_eq(hotspot_log_keys_set("", &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(WRONG); i++) {
        ck_assert_int_eq(hotspot_log_keys_set(WRONG[i].list, &err), -EINVAL);
        ck_assert_msg(strstr(err.msg, WRONG[i].words), "%s", err.msg);
    }
}
END_TEST

START_TEST(reads_keys_of_the_configuration)
{
    unsigned span, name;

    ck_assert_int_eq(
        hotspot_log_keys_set("trace=requestId, operation=endpoint,span=spanId , trace=id", NULL),
        0);
    ck_assert_uint_eq(tracer_keys_kind(), CONTEXT_IDS_KEYS);
    compile(FORM_ARRAY_KEYS, 0);
    ck_assert_uint_eq(count(CONTEXT_KEY), 4);
    for (unsigned hit = 0; hit < 3; hit += 2)
        ck_assert_int_eq(walk(0, hit, STRING, true), CONTEXT_TRACE);
    span = 6;
    name = 10;
    ck_assert_int_eq(walk(0, span, STRING, true), CONTEXT_SPAN);
    ck_assert_int_eq(walk(0, name, STRING, true), CONTEXT_NAME);
    /* A value that is empty, or no String, leaves the others as they are. */
    ck_assert_int_eq(walk(0, 2, STRING, false), -1);
    ck_assert_uint_eq(path.steps[4].op, CONTEXT_TEXT);
    ck_assert_uint_eq(4 + path.steps[4].skip + 1, span);
    ck_assert_uint_eq(3 + path.steps[3].skip + 1, span);
}
END_TEST

/* As many keys as there may be, behind the steps of the longest way to a map. */
START_TEST(has_room_for_all_keys)
{
    static const char *const LISTS[] = { "trace=id", "span=id", "operation=id" };

    for (unsigned texts = 1; texts <= 3; texts++) {
        _cleanup_buf_ struct buf list = BUF_UPTO(1024);

        for (unsigned i = 0; i < 16; i++) {
            buf_add_str(&list, i ? "," : "");
            buf_add_str(&list, texts == 1 ? LISTS[0] : LISTS[i % texts]);
        }
        buf_add_char(&list, '\0');
        ck_assert_int_eq(hotspot_log_keys_set((const char *)list.p, NULL), 0);
        compile(FORM_MAP_KEYS, 6);
        ck_assert_uint_eq(count(CONTEXT_MAP), 16);
        ck_assert_uint_eq(count(CONTEXT_TEXT), texts);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("tracer_keys");

    tcase_add_test(tc, has_keys_of_tracers); /* before another sets its own */
    tcase_add_test(tc, needs_a_known_map);
    tcase_add_test(tc, refuses_what_is_no_key);
    tcase_add_test(tc, reads_keys_of_the_configuration);
    tcase_add_test(tc, has_room_for_all_keys);
    return suite_run_case("tracer_keys", tc);
}
