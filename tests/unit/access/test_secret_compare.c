/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets are compared by digests, whole, with all that are stored: what is right takes as many
 * comparisons as what is wrong. */
#include "suite.h"

#include "access/access_rules.h"
#include "access/basic.h"
#include "access/session.h"
#include "base/buf.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#define NOW (1000 * NSEC_PER_SEC)
#define RULES 5u

static size_t calls, bytes;

/* Stands in for the library's function of this name, and counts. */
int gnutls_memcmp(const void *a, const void *b, size_t n)
{
    calls++;
    bytes += n;
    return memcmp(a, b, n);
}

static void expect_calls(size_t count)
{
    ck_assert_uint_eq(calls, count);
    ck_assert_uint_eq(bytes, 32 * count);
    calls = bytes = 0;
}

static void token_of(char ret[16], size_t i)
{
    snprintf(ret, 16, "token-%zu", i);
}

static struct access_rules *make_rules(void)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct access_rules *rules = NULL;
    struct error err = ERROR_NULL;
    uint8_t hash[32];
    char token[16];

    buf_init(&text, 4096);
    buf_add_str(&text, "access:\n");
    for (size_t i = 0; i < RULES; i++) {
        token_of(token, i);
        ck_assert_int_eq(gnutls_hash_fast(GNUTLS_DIG_SHA256, token, strlen(token), hash), 0);
        buf_printf(&text, "  - name: n%zu\n    token_sha256: ", i);
        for (size_t k = 0; k < sizeof(hash); k++)
            buf_printf(&text, "%02x", hash[k]);
        buf_add_str(&text, "\n    role: view\n");
    }
    ck_assert_msg(access_rules_parse(buf_span(&text), "f.yaml", &rules, &err) == 0, "%s", err.msg);
    return rules;
}

START_TEST(a_token_is_compared_with_each_rule)
{
    struct access_rules *rules = make_rules();
    char token[16];

    for (size_t i = 0; i <= RULES; i++) { /* the last one is wrong */
        token_of(token, i);
        ck_assert_int_eq(access_rules_token(rules, span_of(token)) != NULL, i < RULES);
        expect_calls(RULES);
    }
    access_rules_free(rules);
}
END_TEST

START_TEST(a_session_is_compared_with_each_place)
{
    static const struct subject ROOT = {
        .kind = SUBJECT_USER, .role = ROLE_MANAGE, .most = ROLE_MANAGE, .viewer = { .whole = true }
    };
    char ticket[SESSION_TEXT], secret[SESSION_TEXT], wrong[SESSION_TEXT];
    struct sessions *s = sessions_new();
    struct subject who;
    uint64_t left;
    size_t places;

    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(sessions_ticket(s, &ROOT, NOW, ticket), 0);
    calls = bytes = 0;
    ck_assert_int_eq(sessions_login(s, span_of(ticket), &ROOT, NULL, NOW, secret, &who), 0);
    places = calls;
    ck_assert_uint_gt(places, 1);
    expect_calls(places);
    ck_assert_int_eq(sessions_login(s, span_of(secret), &ROOT, NULL, NOW, wrong, &who),
                     SESSION_NONE); /* no ticket */
    expect_calls(places);
    ck_assert(sessions_find(s, span_of(secret), &ROOT, NOW, &who, &left));
    places = calls;
    ck_assert_uint_gt(places, 1);
    expect_calls(places);
    for (size_t i = 0; i < SESSION_TEXT - 1; i++) { /* wrong from the digit i on */
        memset(secret + SESSION_TEXT - 2 - i, 'x', i + 1);
        ck_assert(!sessions_find(s, span_of(secret), &ROOT, NOW, &who, &left));
        expect_calls(places);
    }
    sessions_free(s);
}
END_TEST

/* An unknown name is compared as a known one is, with a hash of bcrypt and with those that were
 * right before. */
START_TEST(a_password_is_compared_for_each_name)
{
    static const char RULES_TEXT[] = "access:\n  - {name: one, basic: alice, role: view}\n"
                                     "  - {name: two, basic: bob, role: view}\n";
    static const char SESAME[] = "$2b$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW";
    struct basic right = { "alice", "sesame" }, wrong = { "alice", "sesam" },
                 unknown = { "carol", "sesame" };
    const struct basic *const each[] = { &wrong, &unknown, &right };
    struct passwords *p = passwords_new();
    struct access_rules *rules = NULL;
    struct error err = ERROR_NULL;

    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(access_rules_parse(span_of(RULES_TEXT), "f.yaml", &rules, &err), 0);
    for (size_t i = 0; i < rules->count; i++)
        span_copy(span_of(SESAME), rules->rules[i].bcrypt, sizeof(rules->rules[i].bcrypt));
    for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
        calls = bytes = 0;
        ck_assert_int_eq(passwords_check(p, rules, each[i]) != NULL, each[i] == &right);
        ck_assert_uint_eq(calls, 1);
        ck_assert_uint_eq(bytes, ACCESS_BCRYPT_TEXT);
    }
    calls = bytes = 0;
    for (size_t i = 0; i < ARRAY_SIZE(each); i++) { /* one password is known now */
        ck_assert_int_eq(passwords_known(p, rules, each[i]) != NULL, each[i] == &right);
        expect_calls(1);
    }
    passwords_free(p);
    access_rules_free(rules);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("secret_compare");

    tcase_add_test(tc, a_token_is_compared_with_each_rule);
    tcase_add_test(tc, a_session_is_compared_with_each_place);
    tcase_add_test(tc, a_password_is_compared_for_each_name);
    return suite_run_case("secret_compare", tc);
}
