/* SPDX-License-Identifier: Apache-2.0 */
/* api/signals.c: JVMs that ended in one way share a signal, and what was on is a list of its own.
 */
#include "suite.h"

#include "api/api_impl.h"

#define SECOND NSEC_PER_SEC
#define AT(seconds) (UINT64_C(1800000000) * SECOND + (seconds)*SECOND)

static struct made {
    struct process process;
    const char *sentence;
    size_t cause;
    enum rule_id rule;
    unsigned severity;
    uint64_t since_ns, until_ns;
} made[8];
static size_t count;

static void each(bool past, signal_fn fn, void *cookie)
{
    for (size_t i = 0; i < count; i++) {
        struct signal one = { .rule = rule_of(made[i].rule),
                              .process = &made[i].process,
                              .severity = made[i].severity,
                              .since_ns = made[i].since_ns,
                              .now_ns = made[i].since_ns,
                              .until_ns = made[i].until_ns,
                              .times = made[i].until_ns ? 2 : 0,
                              .cause = { made[i].sentence, made[i].cause },
                              .sentence = made[i].sentence };

        if (past == (made[i].until_ns != 0))
            fn(cookie, &one);
    }
}

/* In place of the engine's signals. */
void __wrap_signals_each(const struct signals *s, const struct process *p, signal_fn fn,
                         void *cookie);
void __wrap_signals_each_past(const struct signals *s, signal_fn fn, void *cookie);
void __wrap_signals_each(const struct signals *s, const struct process *p, signal_fn fn,
                         void *cookie)
{
    (void)s, (void)p;
    each(false, fn, cookie);
}

void __wrap_signals_each_past(const struct signals *s, signal_fn fn, void *cookie)
{
    (void)s;
    each(true, fn, cookie);
}

static struct made *add(const char *container, const char *cause, const char *rest, uint64_t at_ns)
{
    static char sentences[ARRAY_SIZE(made)][100];
    struct made *m = &made[count];

    *m = (struct made){ .rule = RULE_ENDED,
                        .severity = 1,
                        .since_ns = at_ns,
                        .cause = strlen(cause),
                        .sentence = sentences[count] };
    snprintf(sentences[count], sizeof(sentences[0]), "%s%s", cause, rest);
    m->process.id.host_pid = 100 + (int32_t)count++;
    m->process.jvm = JVM_READY;
    m->process.exited = true;
    snprintf(m->process.container.name, sizeof(m->process.container.name), "%s", container);
    snprintf(m->process.container.id, sizeof(m->process.container.id), "%zu", count);
    return m;
}

static const json_t *list(json_t **ret)
{
    const struct target_selector all = { .viewer = &VIEWER_WHOLE };
    const struct document_query q = { .viewer = &VIEWER_WHOLE, .target = &all };
    struct error err = ERROR_NULL;
    struct api api = { 0 };

    ck_assert_msg(facts_signals(&api, &q, ret, &err) == 0, "%s", err.msg);
    return json_object_get(*ret, "signals");
}

static json_int_t number(const json_t *list, size_t i, const char *name)
{
    return json_integer_value(json_object_get(json_array_get(list, i), name));
}

static const char *text(const json_t *list, size_t i, const char *name)
{
    const char *t = json_string_value(json_object_get(json_array_get(list, i), name));

    return t ? t : "";
}

START_TEST(one_line_for_all_that_ended_alike)
{
    json_t *answer = NULL;
    const json_t *all;

    count = 0;
    add("shop", "it was ended by SIGKILL", "; at last it used 3 MiB", AT(20))->severity = 2;
    add("shop", "it was ended by SIGKILL", "; at last it used 9 MiB", AT(50));
    add("shop", "it was ended by SIGKILL", "", AT(10));
    all = list(&answer);
    ck_assert_uint_eq(json_array_size(all), 1);
    ck_assert_str_eq(text(all, 0, "signal"), "ended");
    ck_assert_str_eq(text(all, 0, "sentence"),
                     "it was ended by SIGKILL; at last it used 9 MiB; 3 JVMs of this service ended "
                     "so within 1 min");
    ck_assert_int_eq(number(all, 0, "pid"), 101);
    ck_assert_int_eq(number(all, 0, "count"), 3);
    ck_assert_int_eq(number(all, 0, "severity"), 2);
    ck_assert_str_eq(text(all, 0, "first"), "2027-01-15T08:00:10.000000000Z");
    ck_assert_str_eq(text(all, 0, "last"), "2027-01-15T08:00:50.000000000Z");
    ck_assert_str_eq(text(all, 0, "since"), text(all, 0, "last"));
    json_decref(answer);
}
END_TEST

START_TEST(what_differs_has_its_own)
{
    json_t *answer = NULL;
    const json_t *all;

    count = 0;
    add("shop", "it was ended by SIGKILL", "", AT(10));
    add("cart", "it was ended by SIGKILL", "", AT(10)); /* another service, by its container */
    add("shop", "it ended", " after 2 s", AT(10));
    add("shop", "it was ended by SIGKILL", "", AT(10))->process.owner = 1000;
    add("shop", "", "a problem", AT(10))->rule = RULE_HEAP_FULL;
    add("shop", "", "a problem", AT(10))->rule = RULE_HEAP_FULL;
    all = list(&answer);
    ck_assert_uint_eq(json_array_size(all), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_ptr_null(json_object_get(json_array_get(all, i), "count"));
    json_decref(answer);
}
END_TEST

START_TEST(what_was_on_comes_by_its_severity_and_end)
{
    json_t *answer = NULL;
    const json_t *all, *past;
    struct made *m;

    count = 0;
    m = add("shop", "", "97 % of the heap", AT(10));
    m->rule = RULE_HEAP_FULL;
    m->until_ns = AT(100);
    m->severity = 3;
    for (unsigned i = 0; i < 2; i++)
        add("shop", "it was ended by SIGKILL", "", AT(20 + i))->until_ns = AT(620 + i);
    m = add("shop", "", "12 % of 30 s", AT(30));
    m->rule = RULE_GC_PAUSES;
    m->until_ns = AT(200);
    add("shop", "it was ended by SIGKILL", "", AT(900));
    all = list(&answer);
    ck_assert_uint_eq(json_array_size(all), 1);
    ck_assert_ptr_null(json_object_get(json_array_get(all, 0), "until"));
    past = json_object_get(answer, "past");
    ck_assert_uint_eq(json_array_size(past), 3);
    ck_assert_str_eq(text(past, 0, "signal"), "heap-full");
    ck_assert_str_eq(text(past, 0, "sentence"), "at 2027-01-15T08:00:10Z: 97 % of the heap");
    ck_assert_str_eq(text(past, 0, "until"), "2027-01-15T08:01:40.000000000Z");
    ck_assert_int_eq(number(past, 0, "times"), 2);
    ck_assert_str_eq(text(past, 1, "sentence"),
                     "it was ended by SIGKILL; 2 JVMs of this service ended so within 1 min");
    ck_assert_str_eq(text(past, 2, "signal"), "gc-pauses");
    json_decref(answer);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("signals_ended");

    tcase_add_test(tc, one_line_for_all_that_ended_alike);
    tcase_add_test(tc, what_differs_has_its_own);
    tcase_add_test(tc, what_was_on_comes_by_its_severity_and_end);
    return suite_run_case("signals_ended", tc);
}
