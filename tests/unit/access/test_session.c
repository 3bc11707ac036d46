/* SPDX-License-Identifier: Apache-2.0 */
/* Browser sessions: tickets are used once, sessions end, belong to a user, and are limited in
 * number. */
#include "suite.h"

#include "access/session.h"

#define NOW (1000 * NSEC_PER_SEC)

static struct sessions *s;
static const struct subject ROOT = {
    .kind = SUBJECT_USER, .role = ROLE_MANAGE, .most = ROLE_MANAGE, .viewer = { .whole = true }
};
static const struct subject BROWSER = { .kind = SUBJECT_USER, .uid = 1001 };

static void start(void)
{
    s = sessions_new();
    ck_assert_ptr_nonnull(s);
}

static void stop(void)
{
    s = sessions_free(s);
}

static int log_in_at(const struct subject *of, const struct subject *browser, uint64_t now,
                     char secret[SESSION_TEXT])
{
    char ticket[SESSION_TEXT];
    struct subject who;
    int r = sessions_ticket(s, of, now, ticket);

    return r ? r : sessions_login(s, span_of(ticket), browser, NULL, now, secret, &who);
}

static bool is_found(const char *secret, const struct subject *browser, uint64_t now)
{
    struct subject who;
    uint64_t left;

    return sessions_find(s, span_of(secret), browser, now, &who, &left);
}

/* Refuses each part of a secret or a ticket, and each text that differs in one letter. */
START_TEST(what_is_not_whole_is_none)
{
    char secret[SESSION_TEXT], ticket[SESSION_TEXT], wrong[SESSION_TEXT], ignored[SESSION_TEXT];
    struct subject who;

    ck_assert_int_eq(log_in_at(&ROOT, &BROWSER, NOW, secret), 0);
    ck_assert_int_eq(sessions_ticket(s, &ROOT, NOW, ticket), 0);
    for (size_t i = 0; i < 2 * (SESSION_TEXT - 1); i++) {
        const char *right = i % 2 ? secret : ticket;

        for (size_t n = 0; n < 2; n++) {
            memcpy(wrong, right, sizeof(wrong));
            wrong[i / 2] = n ? (char)(wrong[i / 2] == '0' ? '1' : '0') : '\0';
            ck_assert(!is_found(wrong, &BROWSER, NOW));
            ck_assert_int_eq(sessions_login(s, span_of(wrong), &BROWSER, NULL, NOW, ignored, &who),
                             SESSION_NONE);
        }
    }
    ck_assert(is_found(secret, &BROWSER, NOW));
    ck_assert_int_eq(sessions_login(s, span_of(ticket), &BROWSER, NULL, NOW, ignored, &who), 0);
}
END_TEST

START_TEST(a_ticket_is_good_once_and_not_for_long)
{
    char ticket[SESSION_TEXT], secret[SESSION_TEXT];
    struct subject who;

    ck_assert_int_eq(sessions_ticket(s, &ROOT, NOW, ticket), 0);
    ck_assert_int_eq(
        sessions_login(s, span_of(ticket), &BROWSER, NULL, NOW + SESSION_TICKET_NS, secret, &who),
        SESSION_NONE);
    ck_assert_int_eq(sessions_login(s, span_of(ticket), &BROWSER, NULL, NOW + SESSION_TICKET_NS - 1,
                                    secret, &who),
                     0);
    ck_assert_uint_eq(who.uid, 0);
    ck_assert_int_eq(who.role, ROLE_MANAGE);
    ck_assert_int_eq(sessions_login(s, span_of(ticket), &BROWSER, NULL, NOW, secret, &who),
                     SESSION_NONE);
    for (size_t i = 0; i < 3; i++) { /* texts that are no valid ticket */
        struct span bad[] = { SPAN(""), span_of(secret), { ticket, SESSION_TEXT } };

        ck_assert_int_eq(sessions_login(s, bad[i], &BROWSER, NULL, NOW, secret, &who),
                         SESSION_NONE);
    }
}
END_TEST

START_TEST(a_session_has_an_end_and_one_browser)
{
    static const struct subject OTHER = { .kind = SUBJECT_USER, .uid = 1002 },
                                NOBODY = { .kind = SUBJECT_NOBODY, .uid = UINT32_MAX };
    char secret[SESSION_TEXT], far[SESSION_TEXT];

    ck_assert_int_eq(log_in_at(&ROOT, &BROWSER, NOW, secret), 0);
    ck_assert(is_found(secret, &BROWSER, NOW + SESSION_NS - 1));
    ck_assert(!is_found(secret, &BROWSER, NOW + SESSION_NS));
    ck_assert(!is_found(secret, &OTHER, NOW));
    ck_assert(!is_found(secret, &NOBODY, NOW));
    ck_assert_int_eq(log_in_at(&ROOT, &NOBODY, NOW, far), 0);
    ck_assert(is_found(far, &NOBODY, NOW));
    ck_assert(!is_found(far, &BROWSER, NOW));
    sessions_end(s, span_of(secret));
    ck_assert(!is_found(secret, &BROWSER, NOW));
    ck_assert(is_found(far, &NOBODY, NOW));
}
END_TEST

START_TEST(nobody_takes_all)
{
    char secret[SESSIONS_MAX][SESSION_TEXT], one_more[SESSION_TEXT];
    struct subject user = ROOT;
    size_t n = 0;

    for (user.uid = 1; n < SESSIONS_MAX; user.uid++) {
        for (size_t i = 0; i < SESSIONS_OF_USER_MAX; i++, n++)
            ck_assert_int_eq(log_in_at(&user, &BROWSER, NOW + n, secret[n]), 0);
    }
    ck_assert_int_eq(log_in_at(&ROOT, &BROWSER, NOW, one_more), SESSION_FULL);
    user.uid = 1; /* the user has its share: its oldest session ends */
    ck_assert_int_eq(log_in_at(&user, &BROWSER, NOW + n, one_more), 0);
    ck_assert(!is_found(secret[0], &BROWSER, NOW + n));
    for (size_t i = 1; i < SESSIONS_MAX; i++)
        ck_assert(is_found(secret[i], &BROWSER, NOW + n));
    ck_assert(is_found(one_more, &BROWSER, NOW + n));
}
END_TEST

START_TEST(rules_that_take_rights_end_it)
{
    struct access_rules rules = { .count = 1, .rules = { { .user = "1", .uid = 1 } } };
    static const struct {
        enum role role;
        bool own, stays;
    } CASES[] = { { ROLE_MANAGE, false, true },
                  { ROLE_ATTACH, false, false },
                  { ROLE_HEALTH, false, false },
                  { ROLE_MANAGE, true, false } };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct subject user = ROOT;
        char secret[SESSION_TEXT];

        user.uid = 1;
        ck_assert_int_eq(log_in_at(&user, &BROWSER, NOW, secret), 0);
        rules.rules[0].role = CASES[i].role;
        rules.rules[0].own = CASES[i].own;
        sessions_review(s, &rules);
        ck_assert_int_eq(is_found(secret, &BROWSER, NOW), CASES[i].stays);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *t = tcase_create("session");

    tcase_add_checked_fixture(t, start, stop);
    tcase_add_test(t, what_is_not_whole_is_none);
    tcase_add_test(t, a_ticket_is_good_once_and_not_for_long);
    tcase_add_test(t, a_session_has_an_end_and_one_browser);
    tcase_add_test(t, nobody_takes_all);
    tcase_add_test(t, rules_that_take_rights_end_it);
    suite_add_tcase(suite, t);
    return suite_run(suite);
}
