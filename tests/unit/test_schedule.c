/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/: durations, matchers, rules out of YAML, and the timetable on clocks made up here. */
#include "schedule/duration.h"
#include "schedule/rules.h"
#include "schedule/timetable.h"

#include <check.h>

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define HOUR (3600 * S)

/* ---- durations ---- */

static const struct {
    const char *text;
    uint64_t ns;       /* UINT64_MAX: refused */
    const char *spelt; /* as it is written back; NULL: as @text */
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

/* ---- matchers ---- */

static const struct {
    const char *text, *spelt; /* NULL: refused, and then the next is part of the sentence */
    const char *why;
} MATCHERS[] = {
    { "main=\"a\"", "{main=\"a\"}", NULL },
    { " pod != 'x' ", "{pod!=\"x\"}", NULL },
    { "{main=~\"com.acme.*\",namespace=\"prod\"}", "{main=~\"com.acme.*\",namespace=\"prod\"}",
      NULL },
    { "{ main =~ `com\\.acme` , pod!~\"b\" , }", "{main=~\"com\\\\.acme\",pod!~\"b\"}", NULL },
    { "{}", "", NULL },
    { "container=\"a\\\"b\\\\c\\n\"", "{container=\"a\\\"b\\\\c\\n\"}", NULL },
    { "main=\"\"", "{main=\"\"}", NULL },
    { "", NULL, "does not begin with main" },
    { "jvm=\"a\"", NULL, "does not begin with main" },
    { "mainly=\"a\"", NULL, "does not begin with main" },
    { "main", NULL, "none of =" },
    { "main~\"a\"", NULL, "none of =" },
    { "main==\"a\"", NULL, "in quotes" },
    { "main=com.acme", NULL, "in quotes" },
    { "main=\"a", NULL, "not closed" },
    { "main=\"a\\", NULL, "written twice" },
    { "main=\"a\\.b\"", NULL, "written twice" },
    { "main=~\"(\"", NULL, "no regular expression" },
    { "main=~\"a)|(b\"", NULL, "no regular expression" },
    { "main=~\"(?\"", NULL, "no regular expression" },
    { "{main=\"a\"", NULL, "commas" },
    { "{main=\"a\" pod=\"b\"}", NULL, "commas" },
    { "main=\"a\",pod=\"b\"", NULL, "left over" },
    { "{main=\"a\"} x", NULL, "left over" },
    { "{,}", NULL, "does not begin" },
};

START_TEST(reads_matchers)
{
    struct matcher_list list = { .count = 0 };
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct error err = ERROR_NULL;
    int r = matchers_parse(span_of(MATCHERS[_i].text), &list, &err);

    buf_init(&text, 4096);
    matchers_write(&list, &text);
    if (MATCHERS[_i].spelt) {
        ck_assert_msg(r == 0, "%s: %s", MATCHERS[_i].text, err.msg);
        ck_assert_str_eq(text.p ? text.p : "", MATCHERS[_i].spelt);
    } else {
        ck_assert_int_eq(r, -EINVAL);
        ck_assert_msg(strstr(err.msg, MATCHERS[_i].why) != NULL, "%s: %s", MATCHERS[_i].text,
                      err.msg);
    }
    matchers_clear(&list);
}
END_TEST

static const struct matcher_values CHECKOUT = {
    .main = "com.acme.Checkout",
    .pod = "checkout-7d9f",
    .pod_uid = "4f6f0a32-0000-0000-0000-000000000001",
    .pod_namespace = "prod",
    .container = "app",
    .container_id = "3f2a9c1b0d4e00000000000000000000000000000000000000000000000000ff",
};
static const struct matcher_values BARE = { "", "", "", "", "", "" };
static const struct matcher_values NAMELESS = {
    "", "", "", "", "", "3f2a9c1b0d4e00000000000000000000000000000000000000000000000000ff"
};

static const struct {
    const char *text;
    bool checkout, bare, nameless;
} HOLDS[] = {
    { "{}", true, true, true },
    { "main=\"com.acme.Checkout\"", true, false, false },
    { "main=\"com.acme\"", false, false, false },
    { "main!=\"com.acme\"", true, true, true },
    { "main=~\"com.acme.*\"", true, false, false },
    { "main=~\"com.acme\"", false, false, false }, /* anchored at both ends */
    { "main=~\"Checkout\"", false, false, false },
    { "main=~\"x|com[.]acme[.]Check.*\"", true, false, false }, /* the bar is within the anchors */
    { "main=~\"com.*|\"", true, true, true },
    { "main!~\"com.acme.*\"", false, true, true },
    { "main=~\".+\"", true, false, false },
    { "pod=\"\"", false, true, true },
    { "pod!=\"\"", true, false, false },
    { "pod=\"4f6f0a32-0000-0000-0000-000000000001\"", true, false, false },
    { "pod!=\"4f6f0a32-0000-0000-0000-000000000001\"", false, true, true },
    { "pod=\"4f6f0a32\"", false, false, false },
    { "container=\"app\"", true, false, false },
    { "container=\"3f2a9c1b0d4e\"", true, false, true },
    { "container=\"3f2a9\"", false, false, false }, /* less than 6 digits */
    { "container!=\"3f2a9c1b0d4e\"", false, true, false },
    { "container=~\"3f2a.*\"", true, false, true },
    { "container=\"\"", false, true, false },
    { "{namespace=\"prod\",main=~\".*Checkout\"}", true, false, false },
    { "{namespace=\"prod\",main=~\".*Basket\"}", false, false, false },
    { "main=~\"(a+)+b\"", false, false, false },
};

START_TEST(matches_a_process)
{
    struct matcher_list list = { .count = 0 };
    struct matcher_set *set = NULL;
    struct error err = ERROR_NULL;

    ck_assert_msg(matchers_parse(span_of(HOLDS[_i].text), &list, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(matcher_set_new(&list, &set, &err), 0);
    matchers_clear(&list);
    ck_assert_msg(matcher_set_holds(set, &CHECKOUT) == HOLDS[_i].checkout, "%s", HOLDS[_i].text);
    ck_assert_msg(matcher_set_holds(set, &BARE) == HOLDS[_i].bare, "%s", HOLDS[_i].text);
    ck_assert_msg(matcher_set_holds(set, &NAMELESS) == HOLDS[_i].nameless, "%s", HOLDS[_i].text);
    ck_assert_int_eq(matcher_set_uses(set, MATCHER_MAIN), strstr(HOLDS[_i].text, "main") != NULL);
    matcher_set_free(set);
}
END_TEST

/* ---- rules ---- */

static bool only_cpu(const char *name)
{
    return strcmp(name, "cpu") == 0;
}

static const struct rules_checks CHECKS = { only_cpu, "cpu" };

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

    ck_assert_msg(rules_parse(SPAN(TEXT), "f.yaml", &CHECKS, &rules, &err) == 0, "%s", err.msg);
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

    req = rule_request(&rules->triggers[0]);
    ck_assert_str_eq(req.event, "cpu");
    ck_assert_uint_eq(req.period_ns, (S + 100) / 199);
    ck_assert_uint_eq(req.duration_ns, 30 * S);
    ck_assert_int_eq(req.symbols, SYMBOLS_NONE);
    ck_assert(req.keep && req.target.matchers == &rules->triggers[0].match);
    req = rule_request(&rules->triggers[1]);
    ck_assert_int_eq(req.symbols, SYMBOLS_MEMORY);
    ck_assert_ptr_null(req.target.matchers);

    ck_assert_ptr_eq(rules_find_trigger(rules, "low"), &rules->triggers[1]);
    ck_assert_ptr_null(rules_find_trigger(rules, "node"));
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

        ck_assert_msg(rules_parse(span_of(TEXTS[i]), "f", NULL, &rules, &err) == 0, "%s", err.msg);
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
    { "schedules:\n" GOOD "    event: {}\n", { "line 5", "event", "'a mapping'", "" } },
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

    ck_assert_int_eq(rules_parse(span_of(BAD_RULES[_i].text), "f.yaml", &CHECKS, &rules, &err),
                     -EINVAL);
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
        r = rules_parse(buf_span(&text), "f.yaml", NULL, &rules, &err);
        ck_assert_int_eq(r, n > RULES_SCHEDULES_MAX ? -EINVAL : 0);
        rules_free(rules);
    }
    ck_assert_msg(strstr(err.msg, "65 entries: it takes 64") != NULL, "%s", err.msg);
}
END_TEST

/* ---- the timetable ---- */

/* A machine's clocks, which a test turns as it likes. */
static struct clocks at(uint64_t monotonic_ns, uint64_t real_ns)
{
    return (struct clocks){ monotonic_ns, real_ns };
}

static struct clocks later(struct clocks c, uint64_t ns)
{
    return (struct clocks){ c.monotonic_ns + ns, c.real_ns + ns };
}

#define BOOT (100 * S)
#define EPOCH (UINT64_C(1700000000) * S)

START_TEST(spreads_phases)
{
    unsigned buckets[10] = { 0 };
    char node[32];

    for (int i = 0; i < 1000; i++) {
        uint64_t phase;

        snprintf(node, sizeof(node), "node-%d", i);
        phase = timetable_phase(span_of(node), "checkout-cpu", 300 * S);
        ck_assert_uint_lt(phase, 300 * S);
        ck_assert_uint_eq(phase, timetable_phase(span_of(node), "checkout-cpu", 300 * S));
        buckets[phase / (30 * S)]++;
    }
    for (int i = 0; i < 10; i++) /* 100 each; six standard deviations */
        ck_assert_msg(buckets[i] > 43 && buckets[i] < 157, "bucket %d: %u", i, buckets[i]);
    /* Schedules of a node do not fall together either; text does not flow from one into the other.
     */
    ck_assert_uint_ne(timetable_phase(SPAN("n"), "a", 300 * S),
                      timetable_phase(SPAN("n"), "b", 300 * S));
    ck_assert_uint_ne(timetable_phase(SPAN("na"), "b", 300 * S),
                      timetable_phase(SPAN("n"), "ab", 300 * S));
}
END_TEST

START_TEST(keeps_the_rhythm)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed, runs = 0;

    slot_init(&s, 5 * S, 2 * S, 1234 * MS, now);
    for (int i = 0; i < 600; i++) { /* a minute of looks, 100 ms apart */
        if (slot_due(&s, now, &missed)) {
            ck_assert_uint_lt((now.real_ns - 1234 * MS) % (5 * S), 100 * MS);
            slot_started(&s, now);
            runs++;
        }
        ck_assert_uint_eq(missed, 0);
        ck_assert_uint_gt(s.next_ns, now.real_ns);
        ck_assert_uint_eq(slot_wake_ns(&s, now) - now.monotonic_ns, s.next_ns - now.real_ns);
        now = later(now, 100 * MS);
    }
    ck_assert_uint_eq(runs, 12);
}
END_TEST

START_TEST(a_restart_keeps_the_phase)
{
    struct slot before, after;

    slot_init(&before, 300 * S, 30 * S, 77 * S, at(BOOT, EPOCH));
    slot_init(&after, 300 * S, 30 * S, 77 * S, at(9 * S, EPOCH + 1000 * S)); /* a reboot */
    ck_assert_uint_eq((after.next_ns - before.next_ns) % (300 * S), 0);
    ck_assert_uint_ge(after.next_ns, EPOCH + 1000 * S);
    ck_assert_uint_lt(after.next_ns, EPOCH + 1300 * S);
}
END_TEST

START_TEST(counts_what_is_missed)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed;

    slot_init(&s, 5 * S, 2 * S, 0, now); /* due at once: EPOCH is a multiple of 5 s */
    ck_assert(slot_due(&s, now, &missed));
    slot_started(&s, now);
    now = later(now, 5 * S + 900 * MS); /* late, but in time */
    ck_assert(slot_due(&s, now, &missed));
    ck_assert_uint_eq(missed, 0);
    slot_started(&s, now);
    now = later(now, 17 * S); /* 22.9 s: 10, 15 and 20 have passed */
    ck_assert(!slot_due(&s, now, &missed));
    ck_assert_uint_eq(missed, 3);
    ck_assert_uint_eq(s.next_ns, EPOCH + 25 * S);
    now = later(now, 12 * S + 300 * MS); /* 35.2 s: 25 and 30 have passed, 35 can begin */
    ck_assert(slot_due(&s, now, &missed));
    ck_assert_uint_eq(missed, 2);
    slot_started(&s, now);
    ck_assert_uint_eq(s.next_ns, EPOCH + 40 * S);
}
END_TEST

START_TEST(tries_again_until_it_is_too_late)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed;
    int tries = 0;

    slot_init(&s, 5 * S, 2 * S, 0, now);
    for (int i = 0; i < 200; i++) { /* looks every 10 ms, for 2 s */
        if (slot_due(&s, now, &missed)) {
            tries++;
            slot_retry(&s, now);
            ck_assert_uint_eq(slot_wake_ns(&s, now), now.monotonic_ns + 100 * MS);
        }
        ck_assert_uint_eq(missed, i == 101);
        now = later(now, 10 * MS);
    }
    ck_assert_int_eq(tries, 11);
    ck_assert_uint_eq(s.next_ns, EPOCH + 5 * S);
    now = later(now, 3 * S);
    ck_assert(slot_due(&s, now, &missed)); /* the next one is not held back */
    slot_skip(&s);
    ck_assert_uint_eq(s.next_ns, EPOCH + 10 * S);
}
END_TEST

/* The wall clock is set while the machine runs on: what the next run's distance, on the monotonic
 * clock, from the last one is. */
static const struct {
    int64_t jump_s;
    const char *what;
} JUMPS[] = {
    { 3600, "an hour on" },
    { -3600, "an hour back" },
    { 2, "2 s on" },
    { -2, "2 s back" },
    { 9, "9 s on" },
    { -9, "9 s back" },
    { 86400 * 365, "a year on" },
    { -1699999000, "to 1970" },
};

START_TEST(a_clock_that_jumps_neither_stops_nor_floods)
{
    struct clocks now = at(BOOT, EPOCH), last;
    struct slot s;
    uint64_t missed, gap, gaps = 0;

    slot_init(&s, 10 * S, 2 * S, 3 * S, now);
    while (!slot_due(&s, now, &missed))
        now = later(now, 100 * MS);
    slot_started(&s, now);
    last = now;
    now = later(now, 1 * S);
    now.real_ns += (uint64_t)(JUMPS[_i].jump_s * (int64_t)S);
    for (int i = 0; i < 1000; i++, now = later(now, 100 * MS)) {
        bool due = slot_due(&s, now, &missed);

        ck_assert_msg(missed == 0, "%s", JUMPS[_i].what);
        if (!due)
            continue;
        gap = now.monotonic_ns - last.monotonic_ns;
        ck_assert_msg(gap >= 5 * S && gap <= 20 * S, "%s: %ju ms", JUMPS[_i].what,
                      (uintmax_t)(gap / MS));
        if (gaps++) /* the rhythm is found again, on the new time */
            ck_assert_uint_eq(gap, 10 * S);
        ck_assert_uint_lt((now.real_ns - 3 * S) % (10 * S), 100 * MS);
        slot_started(&s, now);
        last = now;
    }
    ck_assert_uint_ge(gaps, 9);
}
END_TEST

START_TEST(follows_a_clock_that_is_slewed)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed, runs = 0;

    slot_init(&s, 5 * S, 2 * S, 0, now);
    for (int i = 0; i < 36000; i++) { /* an hour, the wall clock 500 ppm too fast: 1.8 s in all */
        if (slot_due(&s, now, &missed)) {
            ck_assert_uint_lt(now.real_ns % (5 * S), 101 * MS);
            slot_started(&s, now);
            runs++;
        }
        ck_assert_uint_eq(missed, 0);
        now.monotonic_ns += 100 * MS;
        now.real_ns += 100 * MS + 50 * NSEC_PER_USEC;
    }
    ck_assert_uint_eq(runs, 721);
}
END_TEST

START_TEST(a_sleep_is_no_miss)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed;

    slot_init(&s, 60 * S, 2 * S, 0, now);
    now.real_ns += 8 * HOUR; /* the lid was closed: the monotonic clock stood still */
    slot_due(&s, now, &missed);
    ck_assert_uint_eq(missed, 0);
    ck_assert_uint_le(s.next_ns - now.real_ns, 60 * S);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schedule");
    TCase *tc = tcase_create("rules"), *times = tcase_create("timetable");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tc, reads_a_duration, 0, ARRAY_SIZE(DURATIONS));
    tcase_add_loop_test(tc, reads_matchers, 0, ARRAY_SIZE(MATCHERS));
    tcase_add_loop_test(tc, matches_a_process, 0, ARRAY_SIZE(HOLDS));
    tcase_add_test(tc, reads_rules);
    tcase_add_test(tc, no_rules_are_no_error);
    tcase_add_loop_test(tc, refuses_rules_with_their_place, 0, ARRAY_SIZE(BAD_RULES));
    tcase_add_test(tc, bounds_their_number);
    suite_add_tcase(s, tc);
    tcase_add_test(times, spreads_phases);
    tcase_add_test(times, keeps_the_rhythm);
    tcase_add_test(times, a_restart_keeps_the_phase);
    tcase_add_test(times, counts_what_is_missed);
    tcase_add_test(times, tries_again_until_it_is_too_late);
    tcase_add_loop_test(times, a_clock_that_jumps_neither_stops_nor_floods, 0, ARRAY_SIZE(JUMPS));
    tcase_add_test(times, follows_a_clock_that_is_slewed);
    tcase_add_test(times, a_sleep_is_no_miss);
    suite_add_tcase(s, times);
    runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
