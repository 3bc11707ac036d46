/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server_config: read from a file. Also how the broker, without a reader of YAML, finds its
 * paths. */
#include "suite.h"

#include "base/cleanup.h"
#include "serve/tls/tls_config.h"

static const struct {
    const char *text;
    const char *key; /* the key that is found; NULL: none */
} PATHS[] = {
    { "tls_server_config:\n  key_file: /k\n", "/k" },
    { "tls_server_config:   # why\n\n  # a comment\n    cert_file: /c\n    key_file:   /k  # x\n",
      "/k" },
    { "tls_server_config:\r\n  key_file: /k\r\n", "/k" },
    { "tls_server_config:\n  key_file: \"/k # no comment\"\n", "/k # no comment" },
    { "tls_server_config:\n  key_file: '/k' # x\n", "/k" },
    { "tls_server_config:\n  key_file: /a#b\n", "/a#b" },
    { "tls_server_config:\n  key_file: rel/k\n", "rel/k" },
    { "other:\n  key_file: /o\ntls_server_config:\n  key_file: /k\n", "/k" },
    { "tls_server_config:\n  key_file: /k", "/k" },
    { "tls_server_config:\n  a: b\nother:\n  key_file: /o\n", NULL },
    { " tls_server_config:\n  key_file: /k\n", NULL },
    { "tls_server_config: {key_file: /k}\n", NULL },
    { "tls_server_config:\nkey_file: /k\n", NULL },
    { "tls_server_config:\n  key_file: |\n    /k\n", NULL },
    { "tls_server_config:\n  key_file: &a /k\n", NULL },
    { "tls_server_config:\n  key_file: *a\n", NULL },
    { "tls_server_config:\n  key_file: \"/k\\x20\"\n", NULL },
    { "tls_server_config:\n  key_file: '/k''s'\n", NULL },
    { "tls_server_config:\n  key_file: \"/k\n", NULL },
    { "tls_server_config:\n  key_file:\n", NULL },
    { "tls_server_config:\n  key_file: # none\n", NULL },
    { "tls_server_config:\n  key_file:/k\n", NULL },
    { "tls_server_config:\n  key_file2: /k\n", NULL },
    { "", NULL },
};

START_TEST(finds_a_path_that_is_written_plainly)
{
    char path[TLS_PATH_MAX + 1] = "untouched";
    bool found = tls_path_find(span_of(PATHS[_i].text), TLS_FILE_KEY, path);

    ck_assert_int_eq(found, PATHS[_i].key != NULL);
    ck_assert_str_eq(path, PATHS[_i].key ? PATHS[_i].key : "untouched");
    ck_assert(!tls_path_find(span_of(PATHS[_i].text), TLS_FILE_CONFIG, path));
}
END_TEST

START_TEST(a_path_has_a_limit)
{
    static char text[2048], path[TLS_PATH_MAX + 1];

    snprintf(text, sizeof(text), "tls_server_config:\n  key_file: /%01022d\n", 0);
    ck_assert(tls_path_find(span_of(text), TLS_FILE_KEY, path));
    snprintf(text, sizeof(text), "tls_server_config:\n  key_file: /%01023d\n", 0);
    ck_assert(!tls_path_find(span_of(text), TLS_FILE_KEY, path));
    ck_assert(tls_path_beside("/etc/flamed/flamed.yaml", "a/b", path));
    ck_assert_str_eq(path, "/etc/flamed/a/b");
    ck_assert(tls_path_beside("/etc/flamed/flamed.yaml", "/a/b", path));
    ck_assert_str_eq(path, "/a/b");
    snprintf(text, sizeof(text), "%01015d", 0);
    ck_assert(tls_path_beside("/e/f/a", text, path));
    snprintf(text, sizeof(text), "%01020d", 0);
    ck_assert(!tls_path_beside("/e/f/a", text, path));
}
END_TEST

#define PAIR "tls_server_config:\n  cert_file: /c\n  key_file: /k\n"
static const struct {
    const char *text;
    const char *says; /* the sentence; NULL: it is accepted */
} FILES[] = {
    { PAIR, NULL },
    { PAIR "  min_version: TLS12\n  max_version: TLS13\n", NULL },
    { PAIR "  min_version: TLS13\n", NULL },
    { PAIR "  min_version: TLS11\n", "line 4: min_version does not take 'TLS11'" },
    { PAIR "  min_version: TLS13\n  max_version: TLS12\n", "above max_version" },
    { PAIR "  min_version: TLS13\n  min_version: TLS13\n", "each key once" },
    { PAIR "  curve_preferences: []\n", "does not take 'curve_preferences'" },
    { PAIR PAIR, "given twice" },
    { "tls_server_config:\n  cert_file: /c\n", "cert_file and key_file" },
    { "tls_server_config:\n  cert_file: /c\n  key_file: ''\n", "the path of a file" },
    { "tls_server_config: on\n", "a mapping" },
    { "tls_server_config: {cert_file: /c, key_file: /k}\n", "not written plainly" },
    { "tls_server_config:\n  cert_file: /c\n  key_file: >-\n    /k\n", "not written plainly" },
    { "tls_server_config: {\n", "no YAML" },
};

START_TEST(reads_the_words_of_prometheus)
{
    struct tls_config *c = NULL;
    struct error err = ERROR_NULL;
    int r = tls_config_parse(span_of(FILES[_i].text), "f.yaml", &c, &err);

    if (!FILES[_i].says) {
        ck_assert_msg(r == 0 && c, "%s", err.msg);
        ck_assert_str_eq(c->paths[TLS_FILE_CERT], "/c");
        ck_assert_str_eq(c->paths[TLS_FILE_KEY], "/k");
        ck_assert_int_eq(c->max_version, TLS_VERSION_13);
    } else {
        ck_assert_int_eq(r, -EINVAL);
        ck_assert_msg(strstr(err.msg, FILES[_i].says) != NULL, "%s", err.msg);
    }
    free(c);
}
END_TEST

START_TEST(none_is_no_mistake)
{
    struct tls_config *c = NULL;
    struct error err = ERROR_NULL;

    ck_assert_int_eq(tls_config_parse(span_of("store: /s\n"), "f.yaml", &c, &err), 0);
    ck_assert_ptr_null(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tls_config");
    TCase *tc = tcase_create("tls_config");

    tcase_add_loop_test(tc, finds_a_path_that_is_written_plainly, 0, ARRAY_SIZE(PATHS));
    tcase_add_test(tc, a_path_has_a_limit);
    tcase_add_loop_test(tc, reads_the_words_of_prometheus, 0, ARRAY_SIZE(FILES));
    tcase_add_test(tc, none_is_no_mistake);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
