/* SPDX-License-Identifier: Apache-2.0 */
/* Rules in YAML, and their durations. */
#include "suite.h"

#include "schedule/duration.h"
#include "schedule/rules.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define HOUR (3600 * S)

/* ---- durations ---- */

static const struct {
    const char *text;
    uint64_t ns;       /* UINT64_MAX: refused */
    const char *spelt; /* as it is written back; NULL: as in @text */
} DURATIONS[] = {
    { "5s", 5 * S, NULL },
    { "1m30s", 90 * S, NULL },
    { "90s", 90 * S, "1m30s" },
    { "2h", 2 * HOUR, NULL },
    { "7d", 168 * HOUR, NULL },
    { "1w", 168 * HOUR, "7d" },
    { "500ms", 500 * MS, NULL },
    { "1s500ms", 1500 * MS, NULL },
    { "1d2h3m4s5ms", 26 * HOUR + 184 * S + 5 * MS, NULL },
    { "0s", 0, NULL },
    { "36525d", UINT64_C(36525) * 24 * HOUR, NULL },
    { "36526d", UINT64_MAX, NULL },
    { "36525d1ms", UINT64_MAX, NULL },
    { "18446744073709551615d", UINT64_MAX, NULL },
    { "18446744073709551616s", UINT64_MAX, NULL },
    { "", UINT64_MAX, NULL },
    { "5", UINT64_MAX, NULL },
    { "s", UINT64_MAX, NULL },
    { "-5s", UINT64_MAX, NULL },
    { "5 s", UINT64_MAX, NULL },
    { "5s ", UINT64_MAX, NULL },
    { "1.5h", UINT64_MAX, NULL },
    { "30s1m", UINT64_MAX, NULL },
    { "1m1m", UINT64_MAX, NULL },
    { "5S", UINT64_MAX, NULL },
    { "5min", UINT64_MAX, NULL },
    { "1y", UINT64_MAX, NULL },
};

START_TEST(reads_a_duration)
{
    char text[DURATION_TEXT_BYTES];
    uint64_t ns = 42;
    bool good = duration_parse(span_of(DURATIONS[_i].text), &ns);

    ck_assert_int_eq(good, DURATIONS[_i].ns != UINT64_MAX);
    ck_assert_uint_eq(ns, good ? DURATIONS[_i].ns : 42);
    if (good)
        ck_assert_str_eq(duration_text(ns, text),
                         DURATIONS[_i].spelt ? DURATIONS[_i].spelt : DURATIONS[_i].text);
}
END_TEST

/* ---- rules ---- */

START_TEST(reads_rules)
{
    static const char TEXT[] =
        "log_level: info\n"
        "schedules:\n"
        "  - name: checkout-cpu\n"
        "    match: ['main=~\"com.acme.Checkout.*\"', 'namespace=\"prod\"']\n"
        "    event: cpu\n"
        "    hz: 49.5\n"
        "    every: 5m\n"
        "    for: 30s\n"
        "    keep: 7d\n"
        "    requests: yes\n"
        "    symbols: memory\n"
        "  - { every: 1h, for: 10s, name: node }\n"
        "triggers:\n"
        "  - name: high-cpu\n"
        "    match: '{pod=\"x\"}'\n"
        "    for: 30s\n"
        "    hz: 199\n"
        "    keep: 14d\n"
        "    symbols: none\n"
        "    cooldown: 0s\n"
        "  - name: low\n"
        "    for: 1s\n";
    struct error err = ERROR_NULL;
    struct rules *rules = NULL;
    struct capture_request req;

    ck_assert_msg(rules_parse(SPAN(TEXT), "f.yaml", &rules, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(rules->schedule_count, 2);
    ck_assert_str_eq(rules->schedules[0].name, "checkout-cpu");
    ck_assert_uint_eq(rules->schedules[0].match.count, 2);
    ck_assert_uint_eq(rules->schedules[0].millihz, 49500);
    ck_assert_uint_eq(rules->schedules[0].every_ns, 300 * S);
    ck_assert_uint_eq(rules->schedules[0].for_ns, 30 * S);
    ck_assert_uint_eq(rules->schedules[0].keep_ns, 168 * HOUR);
    ck_assert_str_eq(rules->schedules[1].name, "node");
    ck_assert_str_eq(rules->schedules[1].event, "cpu");
    ck_assert_uint_eq(rules->schedules[1].millihz, 99000);
    ck_assert_uint_eq(rules->schedules[1].keep_ns, 0);
    ck_assert_uint_eq(rules->trigger_count, 2);
    ck_assert_uint_eq(rules->triggers[0].cooldown_ns, 0);
    ck_assert_uint_eq(rules->triggers[1].cooldown_ns, RULE_COOLDOWN_DEFAULT_NS);

    ck_assert(rule_request(&rules->schedules[0]).context);
    req = rule_request(&rules->triggers[0]);
    ck_assert(!req.context);
    ck_assert_str_eq(req.events[0].name, "cpu");
    ck_assert_uint_eq(req.events[0].period, (S + 100) / 199);
    ck_assert_uint_eq(req.duration_ns, 30 * S);
    ck_assert_int_eq(req.symbols, SYMBOLS_NONE);
    ck_assert(req.keep && req.target.matchers == &rules->triggers[0].match);
    req = rule_request(&rules->triggers[1]);
    ck_assert_int_eq(req.symbols, SYMBOLS_MEMORY);
    ck_assert_ptr_null(req.target.matchers);

    ck_assert_ptr_eq(rules_nearest_trigger(rules, "hihg-cpu"), &rules->triggers[0]);
    ck_assert_ptr_eq(rules_nearest_trigger(rules, "lwo"), &rules->triggers[1]);
    rules_free(rules);
}
END_TEST

START_TEST(no_rules_are_no_error)
{
    static const char *const TEXTS[] = {
        "", "a: b\n", "schedules:\n", "schedules: []\ntriggers: []\n", "- a\n", "text"
    };
    struct error err = ERROR_NULL;

    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) {
        struct rules *rules = NULL;

        ck_assert_msg(rules_parse(span_of(TEXTS[i]), "f", &rules, &err) == 0, "%s", err.msg);
        ck_assert_uint_eq(rules->schedule_count + rules->trigger_count, 0);
        ck_assert_ptr_null(rules_nearest_trigger(rules, "x"));
        rules_free(rules);
    }
}
END_TEST

#define GOOD "  - name: a\n    every: 10s\n    for: 2s\n"

/* Each sentence names the line, the rule, the key, the value and the right form. */
static const struct {
    const char *text, *parts[4];
} BAD_RULES[] = {
    { "schedules:\n" GOOD "    hz: fast\n", { "f.yaml, line 5", "a: hz", "'fast'", "1 to 10000" } },
    { "schedules:\n" GOOD "    hz: 0.5\n", { "line 5", "hz", "'0.5'", "1 to 10000" } },
    { "schedules:\n" GOOD "    hz: 10001\n", { "line 5", "hz", "10000", "" } },
    { "schedules:\n" GOOD "    hz: 99.1234\n", { "line 5", "hz", "", "" } },
    { "schedules:\n" GOOD "    hz: [1]\n", { "line 5", "hz", "'a list'", "" } },
    { "schedules:\n  - name: a\n    every: 5\n    for: 2s\n",
      { "line 3", "a: every", "'5'", "30s, 1m30s, 2h or 7d" } },
    { "schedules:\n  - name: a\n    every: 500ms\n    for: 200ms\n",
      { "line 3", "every", "from 1s to 366d", "" } },
    { "schedules:\n  - name: a\n    every: 367d\n    for: 2s\n",
      { "line 3", "every", "from 1s to 366d", "" } },
    { "schedules:\n  - name: a\n    for: 90s\n    every: 1m30s\n",
      { "line 2", "a: for (1m30s)", "shorter than every (1m30s)", "" } },
    { "schedules:\n  - name: a\n    every: 3h\n    for: 61m\n",
      { "line 4", "for", "from 100ms to 1h", "" } },
    { "schedules:\n  - every: 3h\n    for: 61s\n",
      { "line 2", "lacks 'name'", "name, every and for", "" } },
    { "schedules:\n  - name: a\n    for: 61s\n", { "line 2", "a lacks 'every'", "", "" } },
    { "triggers:\n  - name: a\n", { "line 2", "a lacks 'for'", "name and for", "" } },
    { "triggers:\n  - name: a\n    for: 1s\n    every: 5s\n",
      { "line 4", "no key 'every'", "cooldown", "" } },
    { "schedules:\n" GOOD "    cooldown: 5s\n", { "line 5", "no key 'cooldown'", "every", "" } },
    { "schedules:\n" GOOD "    hertz: 5\n", { "line 5", "no key 'hertz'", "hz", "" } },
    { "schedules:\n" GOOD "    ? [x]\n    : 5\n", { "line 5", "no key 'a list'", "", "" } },
    { "schedules:\n" GOOD "    hz: 5\n    hz: 5\n", { "line 6", "a: hz is given twice", "", "" } },
    { "schedules:\n" GOOD "    keep: 5s\n", { "line 5", "keep", "from 1m to", "" } },
    { "triggers:\n  - name: a\n    for: 1s\n    cooldown: 8d\n",
      { "line 4", "cooldown", "from 0s to 7d", "" } },
    { "schedules:\n" GOOD "    event: cpuu\n", { "line 5", "event", "'cpuu'", "event: cpu" } },
    { "schedules:\n" GOOD "    event: 'a:b{x},a:b{y}'\n", { "line 5", "event", "a:b", "" } },
    { "schedules:\n" GOOD "    event: {}\n", { "line 5", "event", "'a mapping'", "" } },
    { "schedules:\n" GOOD "    requests: traces\n",
      { "line 5", "requests", "'traces'", "yes or no" } },
    { "schedules:\n" GOOD "    symbols: agent\n",
      { "line 5", "symbols", "'agent'", "memory or none" } },
    { "schedules:\n" GOOD "    match: main=x\n", { "line 5", "a: match", "in quotes", "main=~" } },
    { "schedules:\n" GOOD "    match: ['main=\"x\"', 'main=~\"(\"']\n",
      { "line 5", "match", "no regular expression", "" } },
    { "schedules:\n" GOOD "    match: { main: x }\n",
      { "line 5", "match", "'a mapping'", "single quotes" } },
    { "schedules:\n  - name: A\n    every: 10s\n    for: 2s\n",
      { "line 2", "name", "'A'", "a-z, 0-9" } },
    { "schedules:\n  - name: ''\n    every: 10s\n    for: 2s\n", { "line 2", "name", "", "" } },
    { "schedules:\n  - name: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234\n",
      { "line 2", "name", "1 to 63", "" } },
    { "schedules:\n" GOOD GOOD, { "line 5", "'a' is taken", "", "" } },
    { "schedules:\n" GOOD "triggers:\n  - name: a\n    for: 1s\n",
      { "line 6", "'a' is taken", "", "" } },
    { "schedules:\n  - just text\n", { "line 2", "schedules", "'just text'", "list of mappings" } },
    { "schedules:\n  name: a\n", { "line 2", "schedules", "'a mapping'", "list of mappings" } },
    { "triggers: yes\n", { "line 1", "triggers", "'yes'", "list of mappings" } },
    { "schedules: []\nschedules: []\n", { "line 2", "given twice", "", "" } },
    { "schedules:\n  - name: [\n", { "line 3", "no YAML", "", "" } },
};

START_TEST(refuses_rules_with_their_place)
{
    struct error err = ERROR_NULL;
    struct rules *rules = NULL;

    ck_assert_int_eq(rules_parse(span_of(BAD_RULES[_i].text), "f.yaml", &rules, &err), -EINVAL);
    ck_assert_ptr_null(rules);
    ck_assert_msg(strncmp(err.msg, "f.yaml, line ", 13) == 0, "%s", err.msg);
    for (size_t i = 0; i < ARRAY_SIZE(BAD_RULES[_i].parts); i++)
        ck_assert_msg(strstr(err.msg, BAD_RULES[_i].parts[i]) != NULL, "'%s' not in: %s",
                      BAD_RULES[_i].parts[i], err.msg);
}
END_TEST

START_TEST(bounds_their_number)
{
    struct error err = ERROR_NULL;

    for (unsigned n = RULES_SCHEDULES_MAX; n <= RULES_SCHEDULES_MAX + 1; n++) {
        _cleanup_buf_ struct buf text = BUF_NULL;
        struct rules *rules = NULL;
        int r;

        buf_init(&text, 65536);
        buf_add_str(&text, "schedules:\n");
        for (unsigned i = 0; i < n; i++)
            buf_printf(&text, "- {name: s%u, every: 1m, for: 1s}\n", i);
        r = rules_parse(buf_span(&text), "f.yaml", &rules, &err);
        ck_assert_int_eq(r, n > RULES_SCHEDULES_MAX ? -EINVAL : 0);
        rules_free(rules);
    }
    ck_assert_msg(strstr(err.msg, "65 entries: it takes 64") != NULL, "%s", err.msg);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("rules");

    tcase_add_loop_test(tc, reads_a_duration, 0, ARRAY_SIZE(DURATIONS));
    tcase_add_test(tc, reads_rules);
    tcase_add_test(tc, no_rules_are_no_error);
    tcase_add_loop_test(tc, refuses_rules_with_their_place, 0, ARRAY_SIZE(BAD_RULES));
    tcase_add_test(tc, bounds_their_number);
    return suite_run_case("rules", tc);
}
