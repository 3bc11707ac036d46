/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of a certificate match a rule. */
#include "suite.h"

#include "access/certificate.h"

static const struct {
    enum certificate_kind kind;
    const char *text; /* a name in the certificate */
    const char *name; /* the name in the rule */
    bool has;
} NAMES[] = {
    { CERTIFICATE_DNS, "a.example.com", "a.example.com", true },
    { CERTIFICATE_DNS, "A.Example.com", "a.example.COM", true },
    { CERTIFICATE_DNS, "*.example.com", "a.example.com", false },
    { CERTIFICATE_DNS, "*.example.com", "*.example.com", true },
    { CERTIFICATE_DNS, "a.example.com", "example.com", false },
    { CERTIFICATE_DNS, "ops@example.com", "ops@example.com", false },
    { CERTIFICATE_DNS, "spiffe://a/b", "spiffe://a/b", false },
    { CERTIFICATE_URI, "spiffe://a/b", "spiffe://a/b", true },
    { CERTIFICATE_URI, "spiffe://a/B", "spiffe://a/b", false },
    { CERTIFICATE_URI, "a.example.com", "a.example.com", false },
    { CERTIFICATE_URI, "x:ops@example.com", "x:ops@example.com", true },
    { CERTIFICATE_EMAIL, "ops@example.com", "ops@example.com", true },
    { CERTIFICATE_EMAIL, "a.example.com", "a.example.com", false },
};

START_TEST(a_name_is_of_its_kind)
{
    struct certificate_names names = { .count = 2, .names = { { CERTIFICATE_DNS, "other" } } };

    names.names[1].kind = NAMES[_i].kind;
    span_copy(span_of(NAMES[_i].text), names.names[1].text, sizeof(names.names[1].text));
    ck_assert_int_eq(certificate_has(&names, NAMES[_i].name), NAMES[_i].has);
    names.count = 0;
    ck_assert(!certificate_has(&names, NAMES[_i].name));
}
END_TEST

START_TEST(noise_is_no_certificate)
{
    struct certificate_names names;

    ck_assert(!certificate_read("", 0, &names));
    ck_assert(!certificate_read("0\x03\x02\x01\x01", 5, &names));
    ck_assert_uint_eq(names.count, 0);
}
END_TEST

START_TEST(the_first_rule_counts)
{
    static const char TEXT[] = "access:\n  - {name: one, user: root, role: view}\n"
                               "  - {name: two, certificate: b.example, role: view}\n"
                               "  - {name: three, certificate: a.example, role: view}\n";
    struct certificate_names names = {
        .count = 2, .names = { { CERTIFICATE_DNS, "a.example" }, { CERTIFICATE_DNS, "b.example" } }
    };
    struct access_rules *rules = NULL;
    struct error err = ERROR_NULL;

    ck_assert_msg(access_rules_parse(span_of(TEXT), "f.yaml", &rules, &err) == 0, "%s", err.msg);
    ck_assert_ptr_eq(certificate_rule(&names, rules), &rules->rules[1]);
    names.count = 1;
    ck_assert_ptr_eq(certificate_rule(&names, rules), &rules->rules[2]);
    names.count = 0;
    ck_assert_ptr_null(certificate_rule(&names, rules));
    ck_assert_ptr_null(certificate_rule(&names, NULL));
    access_rules_free(rules);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("certificate");
    TCase *tc = tcase_create("certificate");

    tcase_add_loop_test(tc, a_name_is_of_its_kind, 0, ARRAY_SIZE(NAMES));
    tcase_add_test(tc, noise_is_no_certificate);
    tcase_add_test(tc, the_first_rule_counts);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
