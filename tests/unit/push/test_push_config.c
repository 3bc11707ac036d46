/* SPDX-License-Identifier: Apache-2.0 */
/* push: targets of the configuration, refused values, and the files that targets name. */
#include "suite.h"

#include "base/clock.h"
#include "push/push_url.h"

#define BEGIN "push:\n  - name: a\n    url: http://h\n"

START_TEST(reads_a_target)
{
    static const char TEXT[] = "other: 1\n"
                               "push:\n"
                               "  - name: pyroscope\n"
                               "    url: https://127.0.0.1:4040/\n"
                               "    protocol: pyroscope\n"
                               "    every: 30s\n"
                               "    events: [cpu, wall, alloc]\n"
                               "    match: '{service!=\"\"}'\n"
                               "    headers: { X-Scope-OrgID: team-a }\n"
                               "    basic_auth:\n"
                               "      username: me\n"
                               "      password_file: /etc/p # a comment\n"
                               "    tls_config:\n"
                               "      ca_file: \"ca.pem\"\n"
                               "      insecure_skip_verify: true\n"
                               "    samples: 500\n"
                               "  - name: otel\n"
                               "    url: http://collector:4318\n";
    struct push_config *c = NULL;
    struct error err = ERROR_NULL;
    const struct push_target *t;

    ck_assert_msg(push_config_parse(SPAN(TEXT), "f", &c, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(c->count, 2);
    t = &c->targets[0];
    ck_assert_str_eq(t->url, "https://127.0.0.1:4040");
    ck_assert_int_eq(t->protocol, PUSH_PYROSCOPE);
    ck_assert_uint_eq(t->every_ns, 30 * NSEC_PER_SEC);
    ck_assert_str_eq(t->events, "cpu,wall,alloc");
    ck_assert_uint_eq(t->match.count, 1);
    ck_assert_str_eq(t->headers[0], "X-Scope-OrgID: team-a");
    ck_assert_str_eq(t->user, "me");
    ck_assert_str_eq(t->paths[PUSH_FILE_PASSWORD], "/etc/p");
    ck_assert_str_eq(t->paths[PUSH_FILE_CA], "ca.pem");
    ck_assert(t->insecure);
    ck_assert_uint_eq(t->samples_max, 500);
    t = &c->targets[1];
    ck_assert_int_eq(t->protocol, PUSH_OTLP);
    ck_assert_uint_eq(t->every_ns, 60 * NSEC_PER_SEC);
    ck_assert_str_eq(t->events, "cpu");
    ck_assert_uint_eq(t->samples_max, PUSH_SAMPLES_DEFAULT);
    push_config_free(c);
    c = NULL;
    ck_assert_int_eq(push_config_parse(SPAN("listen: [a]\n"), "f", &c, &err), 0);
    ck_assert_ptr_null(c);
}
END_TEST

#define TRIGGER "triggers:\n  - name: a\n    for: 1s\n    on: signal\n    webhook:\n"

START_TEST(reads_webhooks)
{
    static const char TEXT[] = "push:\n  - {name: b, url: 'http://h:4318'}\n" TRIGGER
                               "      url: https://hooks.example/flamed/\n"
                               "      link: https://node\n"
                               "      headers: { X-Team: shop }\n"
                               "      authorization:\n"
                               "        credentials_file: /etc/p\n"
                               "  - {name: c, for: 1s}\n";
    struct push_config *c = NULL;
    struct error err = ERROR_NULL;
    const struct push_target *t;

    ck_assert_msg(push_config_parse(SPAN(TEXT), "f", &c, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(c->count, 2);
    t = &c->targets[1];
    ck_assert_int_eq(t->protocol, PUSH_WEBHOOK);
    ck_assert_str_eq(t->name, "a");
    ck_assert_str_eq(t->url, "https://hooks.example/flamed/"); /* as written */
    ck_assert_str_eq(t->link, "https://node");
    ck_assert_str_eq(t->headers[0], "X-Team: shop");
    ck_assert_str_eq(t->paths[PUSH_FILE_CREDENTIALS], "/etc/p");
    ck_assert_uint_eq(t->spool_bytes, 1 << 20);
    push_config_free(c);
}
END_TEST

/* One webhook beyond the limit, beside each number of engines. */
START_TEST(bounds_webhooks)
{
    struct push_config *c = NULL;
    struct error err = ERROR_NULL;
    char text[8192] = "push:\n";

    for (int i = 0; i < _i; i++) {
        size_t n = strlen(text);

        snprintf(text + n, sizeof(text) - n, "  - {name: e%d, url: 'http://h'}\n", i);
    }
    strncat(text, "triggers:\n", sizeof(text) - strlen(text) - 1);
    for (int i = 0; i <= PUSH_WEBHOOKS_MAX; i++) {
        size_t n = strlen(text);

        if (i == PUSH_WEBHOOKS_MAX) {
            ck_assert_int_eq(push_config_parse(span_of(text), "f", &c, &err), 0);
            ck_assert_uint_eq(c->count, (size_t)_i + PUSH_WEBHOOKS_MAX);
            c = push_config_free(c);
        }
        snprintf(text + n, sizeof(text) - n, "  - {name: t%d, webhook: {url: 'http://h'}}\n", i);
    }
    ck_assert_int_eq(push_config_parse(span_of(text), "f", &c, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "first 16"));
}
END_TEST

static const struct {
    const char *text, *why;
} REFUSED[] = {
    { TRIGGER "      events: [cpu]\n", "url, link, headers" },
    { TRIGGER "      link: http://hunter2\n", "it takes a url" },
    { TRIGGER "      url: http://me:hunter2@h\n", "no user or password" },
    { TRIGGER "      url: http://h\n      authorization: { credentials_file: p }\n",
      "not written plainly" },
    { BEGIN TRIGGER "      url: http://h\n", "no target of push has" },
    { "push: 1\n", "a list of at most 8 targets" },
    { "push:\n  - url: http://h\n", "a name and a url" },
    { "push:\n  - name: a\n", "a name and a url" },
    { "push:\n  - name: A b\n    url: http://h\n", "a-z" },
    { "push:\n  - name: a\n    url: ftp://h\n", "http:// or https://" },
    { "push:\n  - name: a\n    url: http://me:hunter2@h\n", "no user or password" },
    { BEGIN "  - name: a\n    url: http://h\n", "no other target has" },
    { BEGIN "    url: http://h\n", "each key once" },
    { BEGIN "    colour: red\n", "name, url, protocol" },
    { BEGIN "    protocol: grpc\n", "otlp or pyroscope" },
    { BEGIN "    every: 1s\n", "duration" },
    { BEGIN "    events: [cpu, nonsense]\n", "one to four events" },
    { BEGIN "    events: [live]\n", "events of the flight recorder" },
    { BEGIN "    match: '{service=\"a\",container!=\"b\"}'\n", "keeps no container" },
    { "push:\n  - name: a\n    url: http://h?a=hunter2\n", "without '?'" },
    { "push:\n  - name: a\n    url: https://h/a#hunter2\n", "without '?'" },
    { "push:\n  - name: a\n    url: http://h:0\n", "a host and a port" },
    { BEGIN "    events: [cpu, cpu]\n", "one to four events" },
    { BEGIN "    events: []\n", "one to four events" },
    { BEGIN "    match: 'x=\"1\"'\n", "does not begin with" },
    { BEGIN "    headers: { Authorization: hunter2 }\n", "none that flamed sets" },
    { BEGIN "    headers: { 'X: y': hunter2 }\n", "Name: value" },
    { BEGIN "    headers: { X: \"hunter2\\r\\nY: z\" }\n", "Name: value" },
    { BEGIN "    basic_auth: { username: a, password: hunter2, password_file: p }\n",
      "a secret or its file" },
    { BEGIN "    basic_auth: { password: hunter2 }\n    authorization: { credentials: x }\n",
      "one of basic_auth and authorization" },
    { BEGIN "    authorization: { type: hunter2 }\n", "credentials or credentials_file" },
    { BEGIN "    basic_auth: { username: a, password_file: p }\n", "not written plainly" },
    { BEGIN "    tls_config:\n      cert_file: c\n", "cert_file and key_file together" },
    { BEGIN "    samples: 16000\n", "a number from 10 to 15999" },
};

START_TEST(refuses)
{
    struct push_config *c = NULL;
    struct error err = ERROR_NULL;

    ck_assert_int_eq(push_config_parse(span_of(REFUSED[_i].text), "f", &c, &err), -EINVAL);
    ck_assert_msg(strstr(err.msg, REFUSED[_i].why) != NULL, "%s: %s", REFUSED[_i].text, err.msg);
    ck_assert_msg(!strstr(err.msg, "hunter2"), "%s", err.msg);
    ck_assert_ptr_null(c);
}
END_TEST

/* The broker has no reader of YAML. It must find this path in the text, and no other. */
static const struct {
    const char *text;
    bool found;
} FILES[] = {
    { "push:\n  - name: a\n    basic_auth:\n      password_file: p\n", true },
    { "push:\n- password_file: p\n", true },
    { "push: # x\n  - password_file: 'p' # y\n", true },
    { "push:\n  - ca_file: o\n    key_file: p\n", true },
    { TRIGGER "      basic_auth:\n        password_file: p\n", true },
    { "pushed:\n  - password_file: p\n", false },
    { "push:\n  - a: 1\nother:\n  key_file: p\n", false },
    { "push:\n  - password: p\n", false },
    { "push:\n  - { password_file: p }\n", false },
    { "push:\n  - # password_file: p\n", false },
    { "push:\n  - password_file: pp\n", false },
};

START_TEST(finds_files)
{
    char path[TLS_PATH_MAX + 1] = "";

    ck_assert_int_eq(tls_path_find_pushed(span_of(FILES[_i].text), tls_path_hash("p"), path),
                     FILES[_i].found);
    ck_assert_str_eq(path, FILES[_i].found ? "p" : "");
}
END_TEST

/* Ports, each once, with the defaults of the schemes. libcurl's port for a proxy is 1080. */
START_TEST(lists_ports)
{
    static const char TEXT[] = "push:\n"
                               "  - {name: a, url: 'http://h:4040/x:9', proxy_url: http://p}\n"
                               "  - {name: b, url: 'https://[::1]:4318', proxy_url: 'https://p'}\n"
                               "  - {name: c, url: 'http://other:4040'}\n"
                               "  - {name: d, url: 'http://[::1]/x'}\n";
    static const uint16_t PORTS[] = { 4040, 1080, 4318, 443, 80 };
    struct push_config *c = NULL;
    struct error err = ERROR_NULL;
    uint16_t ports[PUSHER_PORTS_MAX];

    ck_assert_msg(push_config_parse(SPAN(TEXT), "f", &c, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(push_ports(c, ports), ARRAY_SIZE(PORTS));
    ck_assert_mem_eq(ports, PORTS, sizeof(PORTS));
    push_config_free(c);
}
END_TEST

static const struct {
    const char *url, *user;
    bool shown;
} SHOWN[] = {
    { "http://h", "me", true },          { "http://h", "", false },
    { "https://h", "me", false },        { "http://127.0.0.1:4040", "me", false },
    { "http://[::1]:1", "me", false },   { "http://localhost.example", "me", true },
    { "http://localhost", "me", false },
};

START_TEST(knows_who_may_read_a_secret)
{
    struct push_target t = { .name = "a" };

    snprintf(t.url, sizeof(t.url), "%s", SHOWN[_i].url);
    snprintf(t.user, sizeof(t.user), "%s", SHOWN[_i].user);
    ck_assert_msg(push_shows_secret(&t) == SHOWN[_i].shown, "%s", t.url);
}
END_TEST

/* The path of a webhook is often a secret. */
static const struct {
    enum push_protocol protocol;
    const char *url, *shown;
} STATUS[] = {
    { PUSH_WEBHOOK, "https://hooks.example/services/hunter2", "https://hooks.example" },
    { PUSH_WEBHOOK, "http://[::1]:8080//hunter2/", "http://[::1]:8080" },
    { PUSH_WEBHOOK, "http://h:1", "http://h:1" },
    { PUSH_OTLP, "http://h:4318/tenant", "http://h:4318/tenant" },
};

START_TEST(shows_no_path_of_a_webhook)
{
    struct push_target t = { .protocol = STATUS[_i].protocol };
    char shown[PUSH_URL_MAX + 1];

    snprintf(t.url, sizeof(t.url), "%s", STATUS[_i].url);
    push_url_shown(&t, shown);
    ck_assert_str_eq(shown, STATUS[_i].shown);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_config");

    tcase_add_test(tc, reads_a_target);
    tcase_add_test(tc, reads_webhooks);
    tcase_add_loop_test(tc, bounds_webhooks, 0, PUSH_ENGINES_MAX + 1);
    tcase_add_loop_test(tc, refuses, 0, (int)ARRAY_SIZE(REFUSED));
    tcase_add_test(tc, lists_ports);
    tcase_add_loop_test(tc, knows_who_may_read_a_secret, 0, (int)ARRAY_SIZE(SHOWN));
    tcase_add_loop_test(tc, shows_no_path_of_a_webhook, 0, (int)ARRAY_SIZE(STATUS));
    tcase_add_loop_test(tc, finds_files, 0, (int)ARRAY_SIZE(FILES));
    return suite_run_case("push_config", tc);
}
