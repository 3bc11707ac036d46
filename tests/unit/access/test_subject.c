/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of the other end of a connection, by itself and by each rule, in all combinations. */
#include "suite.h"

#include "access/access_rules.h"
#include "access/subject.h"

/* Returns a peer for each result that peer_place() and peers_look() may have. */
static struct peer peer_of(unsigned bits)
{
    return (struct peer){ .known = bits & 1,
                          .uid = bits & 2 ? 0 : 1001,
                          .member = bits & 2,
                          .tcp = bits & 4,
                          .problem = bits & 1 ? NULL : "not known" };
}

/* Only known users of the host get more than no rights. Over TCP none gets ROLE_MANAGE. */
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

/* A rule for a user gives no more rights over TCP. A rule for a credential gives its role
 * everywhere. */
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

/* Two rules are two callers, even if their names share a long prefix. */
START_TEST(names_of_rules_are_whole)
{
    static const enum access_by BY[] = { ACCESS_BY_TOKEN, ACCESS_BY_BASIC, ACCESS_BY_CERTIFICATE };

    for (size_t i = 0; i < ARRAY_SIZE(BY); i++) {
        struct access_rule one = { .by = BY[i], .role = ROLE_VIEW }, other = one;
        char name[SUBJECT_NAME_BYTES], text[CALLER_NAME_BYTES];
        struct subject a = { 0 }, b = { 0 };
        struct caller first, second;

        memset(one.name, 'n', ACCESS_NAME_MAX);
        memset(other.name, 'n', ACCESS_NAME_MAX);
        other.name[ACCESS_NAME_MAX - 1] = 'o';
        subject_apply(&a, &one);
        subject_apply(&b, &other);
        first = caller_named(subject_name(&a, name));
        ck_assert_ptr_nonnull(strstr(name, one.name));
        second = caller_named(subject_name(&b, name));
        ck_assert(!caller_equal(&first, &second));
        ck_assert_str_eq(caller_name(&second, text), name);
    }
}
END_TEST

/* Refusals name the Unix socket, if there is one. */
START_TEST(refusals_name_the_socket)
{
    static const char *const SOCKETS[] = { "", "/run/other.sock" };

    for (size_t i = 0; i < ARRAY_SIZE(SOCKETS); i++) {
        struct subject nobody = { .kind = SUBJECT_NOBODY, .role = ROLE_HEALTH, .problem = "why" };
        struct subject root = {
            .kind = SUBJECT_USER, .role = ROLE_ATTACH, .most = ROLE_ATTACH, .limited = true
        };
        const struct subject *const both[] = { &nobody, &root };

        for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
            struct error err = ERROR_NULL;

            ck_assert(!subject_may(both[k], ROLE_MANAGE, SOCKETS[i], &err));
            ck_assert_uint_lt(strlen(err.remedy), ERROR_REMEDY_MAX - 1);
            ck_assert_ptr_null(strstr(err.remedy, "/run/flamed"));
            ck_assert_ptr_nonnull(
                strstr(err.remedy, i ? "--unix-socket /run/other.sock" : "listen takes unix:PATH"));
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
    tcase_add_test(tc, names_of_rules_are_whole);
    tcase_add_test(tc, refusals_name_the_socket);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
