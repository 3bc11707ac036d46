/* SPDX-License-Identifier: Apache-2.0 */
/* signal/lock_readings.h: what the owner of a lock does, of several looks. */
#include "signal/lock_readings.h"

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
    { "the newest, if each shows something else",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Table", "http-2", "", "Table.get", 2 } },
      "http-2",
      "",
      "Table.get" },
    { "what most looks show",
      { { "Table", "http-1", "sleep", "Table.load", 1 },
        { "Table", "http-2", "sleep", "Table.load", 11 },
        { "Table", "http-3", "", "Table.get", 21 } },
      "http-2",
      "sleep",
      "Table.load" },
    { "a known one rather than none",
      { { "Table", "http-1", "sleep", "Table.load", 1 }, { "Table", "http-3", NULL, "", 11 } },
      "http-1",
      "sleep",
      "Table.load" },
    { "no old one",
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
    struct lock_readings r = { .noted = 0 };
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

/* Only the last few looks count. */
START_TEST(forgets_the_oldest)
{
    struct lock_readings r = { .noted = 0 };
    struct waits_lock l = { .name = "Table",
                            .owner = "http-1",
                            .code = "Table.load",
                            .wait = "file" },
                      got;

    for (uint64_t i = 0; i < 3; i++)
        lock_readings_note(&r, &l, i, &got);
    l.wait = "sleep";
    for (uint64_t i = 0; i < LOCK_READINGS - 2; i++) {
        lock_readings_note(&r, &l, 10 + i, &got);
        ck_assert_str_eq(got.wait, i < 2 ? "file" : "sleep");
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("lock_readings");

    tcase_add_loop_test(tc, chooses, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, forgets_the_oldest);
    return suite_run_case("lock_readings", tc);
}
