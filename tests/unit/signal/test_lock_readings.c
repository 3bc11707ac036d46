/* SPDX-License-Identifier: Apache-2.0 */
/* signal/lock_readings.h: what the owner of a lock does, of several looks. */
#include "signal/lock_readings.h"
#include "signal/rule.h"

#include "suite.h"

#define SECOND NSEC_PER_SEC

/* Looks in the order of time, "class owner wait code"; "-": not known, "runs": it runs. */
static const struct {
    const char *what;
    struct {
        const char *name, *owner, *wait, *code;
        uint64_t s;
    } looks[5];
    const char *owner, *wait, *code; /* chosen at the last look */
} CASES[] = {
    { "the first, if each shows something else",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Table", "http-2", "", "Table.get", 2 } },
      "http-1",
      "sleep",
      "Table.load" },
    { "the first, as long as others are not seen clearly more often",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Table", "http-2", "", "Table.get", 2 },
        { "Table", "http-3", "", "Table.get", 12 },
        { "Table", "http-4", "sleep", "Table.load", 22 },
        { "Table", "http-5", NULL, "", 32 } },
      "", /* several */
      "",
      "Table.get" },
    { "of another lock what is known of that",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Other", "http-2", "file", "Other.load", 11 },
        { "Table", "http-3", "sleep", "Table.load", 21 },
        { "Other", "http-4", NULL, "", 31 } },
      "http-2",
      "file",
      "Other.load" },
    { "what most looks show",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Table", "http-2", "sleep", "Table.load", 11 },
        { "Table", "http-3", "", "Table.get", 21 } },
      "",
      "sleep",
      "Table.load" },
    { "the owner that all these looks show",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Table", "http-1", "sleep", "Table.load", 11 },
        { "Table", "http-3", "", "Table.get", 21 } },
      "http-1",
      "sleep",
      "Table.load" },
    { "a known one rather than none",
      { { "Table", "http-1", "sleep", "Table.load", 1 }, { "Table", "http-3", NULL, "", 11 } },
      "http-1",
      "sleep",
      "Table.load" },
    { "none from before the threads waited again",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Table", "http-2", "sleep", "Table.load", 2 },
        { "Table", "http-3", "", "Table.get", 70 } },
      "http-3",
      "",
      "Table.get" },
    { "none of another lock",
      { { "Other", "http-1", "sleep", "Other.load", 1 },
        { "Other", "http-1", "sleep", "Other.load", 2 },
        { "Table", "http-3", NULL, "", 3 } },
      "http-3",
      NULL,
      "" },
};

START_TEST(chooses)
{
    struct lock_readings r = { .shown = 0 };
    struct waits_lock got = { .name = "" };

    for (size_t i = 0; i < ARRAY_SIZE(CASES[_i].looks) && CASES[_i].looks[i].name; i++) {
        struct waits_lock l = { .waiters = 3, .wait = CASES[_i].looks[i].wait };

        snprintf(l.name, sizeof(l.name), "%s", CASES[_i].looks[i].name);
        snprintf(l.owner, sizeof(l.owner), "%s", CASES[_i].looks[i].owner);
        snprintf(l.code, sizeof(l.code), "%s", CASES[_i].looks[i].code);
        lock_readings_note(&r, &l, CASES[_i].looks[i].s * SECOND, &got);
    }
    ck_assert_msg(strcmp(got.owner, CASES[_i].owner) == 0, "%s: %s", CASES[_i].what, got.owner);
    ck_assert_str_eq(got.code, CASES[_i].code);
    ck_assert_msg(CASES[_i].wait ? got.wait && strcmp(got.wait, CASES[_i].wait) == 0 : !got.wait,
                  "%s", CASES[_i].what);
}
END_TEST

static void note(struct lock_readings *r, const char *wait, const char *code, uint64_t s,
                 struct waits_lock *got)
{
    struct waits_lock l = { .name = "Table", .owner = "http-1", .wait = wait };

    snprintf(l.code, sizeof(l.code), "%s", code);
    lock_readings_note(r, &l, s * SECOND, got);
}

/* Seven of ten looks of an hour show what costs most, the others chance: the sentence stays. */
START_TEST(stays_on_a_busy_machine)
{
    struct lock_readings r = { .shown = 0 };
    struct waits_lock got = { .name = "" };
    unsigned changes = 0, chance = 1;

    for (uint64_t s = 1; s < 3600; s += 10) {
        char before[WAITS_CODE_BYTES];
        unsigned of_ten = (chance >> 16) % 10;

        chance = chance * 1103515245 + 12345;
        memcpy(before, got.code, sizeof(before));
        note(&r,
             of_ten < 7   ? "sleep"
             : of_ten < 9 ? "runnable"
                          : "",
             of_ten < 7 ? "Table.load" : "Table.get", s, &got);
        changes += strcmp(before, got.code) != 0;
    }
    ck_assert_str_eq(got.wait, "sleep");
    ck_assert_uint_le(changes, 1); /* from none */
    ck_assert_double_eq_tol(got.part, 0.7, 0.2);
}
END_TEST

/* What owners do now is said within three minutes, however long they did something else. */
START_TEST(follows_what_owners_do_now)
{
    struct lock_readings r = { .shown = 0 };
    struct waits_lock got;
    uint64_t s = 1;

    for (; s < 3600; s += 10)
        note(&r, "file", "Table.load", s, &got);
    ck_assert_str_eq(got.wait, "file");
    for (uint64_t end = s + 180; s < end; s += 10)
        note(&r, "sleep", "Table.load", s, &got);
    ck_assert_str_eq(got.wait, "sleep");
}
END_TEST

/* Something new takes the place of what was seen least. */
START_TEST(has_room_for_something_new)
{
    struct lock_readings r = { .shown = 0 };
    struct waits_lock got;
    char code[] = "Table.a";

    note(&r, "sleep", "Table.load", 1, &got);
    note(&r, "sleep", "Table.load", 2, &got);
    for (int i = 0; i < 2 * LOCK_DEEDS; i++) {
        code[sizeof(code) - 2] = (char)('a' + i);
        note(&r, "file", code, 3, &got);
    }
    ck_assert_str_eq(got.code, "Table.load");
    for (int i = 0; i < 2; i++)
        note(&r, "file", code, 4, &got);
    ck_assert_str_eq(got.code, code);
}
END_TEST

static const struct {
    const char *owner, *wait, *code, *want;
    double part;
} SENTENCES[] = {
    { "http-1", "file", "Table.load", "Table; http-1 held it, and waited for a file in Table.load",
      0 },
    { "http-1", "", "", "Table; http-1 held it, and ran or waited for a processor", 0 },
    { "http-1", NULL, "", "Table; http-1 held it", 0 },
    { "", "sleep", "Table.load", "Table; its holders vary, and slept in Table.load", 0 },
    { "", "runnable", "", "Table; its holders vary, and waited for a processor", 0 },
    { "", NULL, "", "Table", 0 },
    { "", "sleep", "Table.load",
      "Table; its holders vary, and most often (70 %) slept in Table.load", 0.7 },
    { "http-1", "", "",
      "Table; http-1 held it, and most often (56 %) ran or waited for a processor", 0.56 },
    { "", "sleep", "Table.load", "Table; its holders vary, and slept in Table.load", 0.96 },
};

/* Nothing is said of now: the owner is of a look before. */
START_TEST(says_what_owners_did)
{
    struct waits_lock lock = { .name = "Table",
                               .wait = SENTENCES[_i].wait,
                               .part = SENTENCES[_i].part };
    struct numbers numbers = { .count = 0 };
    struct rule_view v = { .numbers = &numbers, .lock = &lock };
    struct rule_finding f = { .severity = 0 };
    struct number_reading r;
    const char *said;

    snprintf(lock.owner, sizeof(lock.owner), "%s", SENTENCES[_i].owner);
    snprintf(lock.code, sizeof(lock.code), "%s", SENTENCES[_i].code);
    reading_clear(&r);
    r.v[NUMBER_LOCK_WAITERS] = r.v[NUMBER_BUSY_THREADS] = 4;
    for (uint64_t at = 1; at < 6; at++)
        ck_assert(numbers_add(&numbers, at * NUMBERS_STEP_NS, &r));
    rule_of(RULE_LOCK_CONTENTION)->look(&v, &f);
    said = strstr(f.sentence, "Table");
    ck_assert_str_eq(said, SENTENCES[_i].want);
    numbers_deinit(&numbers);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("lock_readings");

    tcase_add_loop_test(tc, chooses, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, stays_on_a_busy_machine);
    tcase_add_test(tc, follows_what_owners_do_now);
    tcase_add_test(tc, has_room_for_something_new);
    tcase_add_loop_test(tc, says_what_owners_did, 0, ARRAY_SIZE(SENTENCES));
    return suite_run_case("lock_readings", tc);
}
