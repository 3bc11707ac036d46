/* SPDX-License-Identifier: Apache-2.0 */
/* What the other end of a connection may, by itself and by each rule, in all combinations. */
#include "suite.h"

#include "access/access_rules.h"
#include "access/subject.h"

/* All that peer_place() and peers_look() may have told. */
static struct peer peer_of(unsigned bits)
{
    return (struct peer){ .known = bits & 1,
                          .uid = bits & 2 ? 0 : 1001,
                          .member = bits & 2,
                          .tcp = bits & 4,
                          .problem = bits & 1 ? NULL : "not known" };
}

/* Nobody but a known user of the host's is more than nobody, and over TCP none has ROLE_MANAGE. */
START_TEST(the_other_end_alone)
{
    static const enum peer_place PLACES[] = { PEER_HOST, PEER_FOREIGN, PEER_UNTOLD };

    for (unsigned bits = 0; bits < 16; bits++) {
        for (size_t i = 0; i < ARRAY_SIZE(PLACES); i++) {
            struct peer p = peer_of(bits);
            bool tcp_manages = bits & 8, counts = p.known && PLACES[i] == PEER_HOST;
            struct subject s;

            subject_of_peer(&p, PLACES[i], tcp_manages, &s);
            ck_assert_int_eq(s.kind, counts ? SUBJECT_USER : SUBJECT_NOBODY);
            ck_assert_int_eq(s.role, !counts                 ? ROLE_HEALTH
                                     : !p.member             ? ROLE_PROFILE
                                     : p.tcp && !tcp_manages ? ROLE_ATTACH
                                                             : ROLE_MANAGE);
            ck_assert(s.viewer.whole == (counts && p.member));
            ck_assert(s.untold == (p.known && PLACES[i] == PEER_UNTOLD));
        }
    }
}
END_TEST

/* A user's rule gives no more over TCP. What is shown gives its role everywhere. */
START_TEST(with_a_rule)
{
    static const enum access_by BY[] = { ACCESS_BY_HOST, ACCESS_BY_TOKEN, ACCESS_BY_BASIC,
                                         ACCESS_BY_CERTIFICATE };

    for (unsigned bits = 0; bits < 16; bits++) {
        for (size_t i = 0; i < ARRAY_SIZE(BY); i++) {
            for (int role = ROLE_HEALTH; role <= ROLE_MANAGE; role++) {
                struct access_rule rule = { .by = BY[i], .name = "x", .role = role };
                struct peer p = peer_of(bits | 1);
                bool limited = BY[i] == ACCESS_BY_HOST && p.tcp && !(bits & 8);
                struct subject s;

                subject_of_peer(&p, PEER_HOST, bits & 8, &s);
                subject_apply(&s, &rule);
                ck_assert_int_eq(s.role, limited ? MIN(role, (int)ROLE_ATTACH) : role);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("subject");
    TCase *tc = tcase_create("subject");

    tcase_add_test(tc, the_other_end_alone);
    tcase_add_test(tc, with_a_rule);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
