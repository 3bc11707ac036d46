/* SPDX-License-Identifier: Apache-2.0 */
/* Basic authentication: the header, the hashes of passwords, the cache of checked passwords, and
 * the limit of attempts. */
#include "suite.h"

#include "access/attempts.h"
#include "access/basic.h"

static const struct {
    const char *header; /* the text after "Basic " */
    const char *name;   /* NULL: the header is refused */
    const char *password;
} HEADERS[] = {
    { "YWxpY2U6c2VzYW1l", "alice", "sesame" },
    { "YWxpY2U6", "alice", "" },
    { "YTpiOmM=", "a", "b:c" },
    { "YTpiYw==", "a", "bc" },
    { "YTpiYx==", NULL, NULL }, /* bits beyond the end */
    { "YTpiYw=", NULL, NULL },
    { "YTpiYw", NULL, NULL },
    { "YTpi=w==", NULL, NULL },
    { "YWxp\nY2U6", NULL, NULL },
    { "YWxpY2U2", NULL, NULL },     /* no colon */
    { "OnNlc2FtZQ==", NULL, NULL }, /* no name */
    { "YTpiAGM=", NULL, NULL },     /* a NUL */
    { "====", NULL, NULL },
    { "", NULL, NULL },
};

START_TEST(reads_a_header)
{
    struct basic b = { .name = "untouched" };
    bool good = basic_parse(span_of(HEADERS[_i].header), &b);

    ck_assert_int_eq(good, HEADERS[_i].name != NULL);
    ck_assert_str_eq(b.name, good ? HEADERS[_i].name : "untouched");
    ck_assert_str_eq(b.password, good ? HEADERS[_i].password : "");
}
END_TEST

START_TEST(knows_the_scheme)
{
    struct span rest = SPAN_NULL;

    ck_assert(authorization_is(span_of("Basic  abc "), "basic", &rest));
    ck_assert(span_eq_str(rest, "abc"));
    ck_assert(authorization_is(span_of("BEARER x"), "bearer", &rest));
    ck_assert(!authorization_is(span_of("Bearerx y"), "bearer", &rest));
    ck_assert(!authorization_is(span_of("Basi"), "basic", &rest));
    ck_assert(authorization_is(span_of("Bearer "), "bearer", &rest)); /* curl with an empty token */
    ck_assert_uint_eq(rest.n, 0);
    ck_assert(!authorization_is(SPAN_NULL, "basic", &rest));
}
END_TEST

#define SALTED "wI9rFKeMKGkx3aFDQw3T4uN4H3xHnT1nB4t9q1r2s3t4u5v6w7x8y" /* 53 digits */
START_TEST(takes_hashes_of_bcrypt_alone)
{
    static const struct {
        const char *hash;
        bool good;
    } HASHES[] = {
        { "$2b$10$" SALTED, true },
        { "$2y$04$" SALTED, true },
        { "$2a$14$" SALTED, true },
        { "$2b$15$" SALTED, false },
        { "$2b$03$" SALTED, false },
        { "$2x$10$" SALTED, false },
        { "$2b$1x$" SALTED, false },
        { "$2b$10$" SALTED "a", false },
        { "$6$abc$def", false },
        { "plain", false },
        { "", false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(HASHES); i++)
        ck_assert_msg(basic_hash_valid(span_of(HASHES[i].hash)) == HASHES[i].good, "%s",
                      HASHES[i].hash);
}
END_TEST

/* ALICE: "sesame", by crypt(3). */
#define TEXT                                                                                       \
    "access:\n  - {name: one, basic: alice, role: view}\n  - {name: two, basic: bob, role: "       \
    "view}\n"
#define ALICE "$2b$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW"

static struct access_rules *read_rules(const char *text)
{
    struct access_rules *rules = NULL;
    struct error err = ERROR_NULL;

    ck_assert_msg(access_rules_parse(span_of(text), "f.yaml", &rules, &err) == 0, "%s", err.msg);
    return rules;
}

START_TEST(remembers_who_was_right)
{
    struct access_rules *rules = read_rules(TEXT);
    struct passwords *p = passwords_new();
    struct basic right = { "alice", "sesame" }, wrong = { "alice", "sesam" },
                 nobody = { "carol", "sesame" };

    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < rules->count; i++) /* the decoy for unknown names gets this hash, too */
        span_copy(span_of(ALICE), rules->rules[i].bcrypt, sizeof(rules->rules[i].bcrypt));
    ck_assert_ptr_null(passwords_known(p, rules, &right));
    ck_assert_ptr_null(passwords_check(p, rules, &wrong));
    ck_assert_ptr_null(passwords_check(p, rules, &nobody));
    ck_assert_ptr_null(passwords_known(p, rules, &right));
    ck_assert_ptr_eq(passwords_check(p, rules, &right), &rules->rules[0]);
    ck_assert_ptr_eq(passwords_known(p, rules, &right), &rules->rules[0]);
    ck_assert_ptr_null(passwords_known(p, rules, &wrong));
    ck_assert_ptr_null(passwords_known(p, rules, &nobody));
    rules->rules[0].bcrypt[ACCESS_BCRYPT_TEXT - 1] ^= 1; /* ALICE now has another password */
    ck_assert_ptr_null(passwords_known(p, rules, &right));
    ck_assert_ptr_null(passwords_check(p, rules, &right));
    ck_assert_ptr_null(passwords_check(p, NULL, &right));
    passwords_free(p);
    free(rules);
}
END_TEST

/* Tries a wrong password for @name, or a wrong token if @name is NULL. Returns true if @c may
 * try. */
static bool take_for(struct attempts *a, const struct caller *c, const char *name, uint64_t now,
                     unsigned *ret_retry_s)
{
    bool left = attempts_left(a, c, name, now, ret_retry_s);

    if (left)
        attempts_charge(a, c, name, now);
    return left;
}

static bool take(struct attempts *a, const struct caller *c, uint64_t now, unsigned *ret_retry_s)
{
    return take_for(a, c, "alice", now, ret_retry_s);
}

START_TEST(gives_each_caller_some_attempts)
{
    static struct attempts a;
    struct caller one = { .kind = CALLER_USER, .uid = 1 }, two = { .kind = CALLER_USER, .uid = 2 };
    uint64_t now = 1000 * NSEC_PER_SEC;
    unsigned retry_s = 0;

    for (int i = 0; i < ATTEMPTS_AT_ONCE; i++)
        ck_assert(take(&a, &one, now, &retry_s));
    ck_assert(!take(&a, &one, now, &retry_s));
    ck_assert_uint_eq(retry_s, ATTEMPT_NS / NSEC_PER_SEC);
    ck_assert(take(&a, &two, now, &retry_s));
    now += ATTEMPT_NS;
    ck_assert(take(&a, &one, now, &retry_s));
    ck_assert(!take(&a, &one, now, &retry_s));
    ck_assert(
        !attempts_left(&a, &one, "alice", now - NSEC_PER_SEC, &retry_s)); /* the clock went back */
    for (uint32_t uid = 100; uid < 100 + 2 * ATTEMPTS_COUNTS_MAX; uid++) {
        struct caller many = { .kind = CALLER_USER, .uid = uid };

        ck_assert(take(&a, &many, now + uid, &retry_s));
    }
    ck_assert(take(&a, &one, now + 10000, &retry_s)); /* the attempts are forgotten */
}
END_TEST

/* A client that guesses one user's password, or tokens, shuts out no other user of its address. */
START_TEST(guesses_shut_out_no_other_name)
{
    static struct attempts a;
    struct caller c = { .kind = CALLER_ADDRESS, .address = { [10] = 255, 255, 192, 0, 2, 1 } };
    uint64_t now = 1000 * NSEC_PER_SEC;
    unsigned retry_s = 0, taken = 0;
    char name[16];

    while (take(&a, &c, now, &retry_s))
        taken++;
    ck_assert_uint_eq(taken, ATTEMPTS_AT_ONCE);
    ck_assert(attempts_left(&a, &c, "bob", now, &retry_s));
    while (take_for(&a, &c, NULL, now, &retry_s))
        taken++;
    ck_assert_uint_eq(taken, 2 * ATTEMPTS_AT_ONCE);
    ck_assert(attempts_left(&a, &c, "bob", now, &retry_s));
    /* A further limit counts the attempts for all names together. */
    for (taken = ATTEMPTS_AT_ONCE; taken < 1000; taken++) {
        snprintf(name, sizeof(name), "n%u", taken);
        if (!take_for(&a, &c, name, now, &retry_s))
            break;
    }
    ck_assert_uint_eq(taken, ATTEMPTS_ALL_AT_ONCE);
    ck_assert_uint_eq(retry_s, ATTEMPT_ALL_NS / NSEC_PER_SEC);
    ck_assert(attempts_left(&a, &c, "bob", now + ATTEMPT_ALL_NS, &retry_s));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("basic");
    TCase *tc = tcase_create("basic");

    tcase_add_loop_test(tc, reads_a_header, 0, ARRAY_SIZE(HEADERS));
    tcase_add_test(tc, knows_the_scheme);
    tcase_add_test(tc, takes_hashes_of_bcrypt_alone);
    tcase_add_test(tc, remembers_who_was_right);
    tcase_add_test(tc, gives_each_caller_some_attempts);
    tcase_add_test(tc, guesses_shut_out_no_other_name);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
