/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: the command line, the file, and their printed forms. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "config.h"

#include <fcntl.h>
#include <unistd.h>

#define ARGV_MAX 16

/* Loads a command line with words that '|' separates. */
static int load(const char *line, struct config *c, struct error *err)
{
    char text[1024], *argv[ARGV_MAX + 1] = { text };
    struct span rest, word;
    int argc = 1;
    char *at = text;

    at += snprintf(text, sizeof(text), "flamed") + 1;
    rest = span_of(line);
    while (span_take_until(&rest, '|', &word)) {
        ck_assert_int_lt(argc, ARGV_MAX);
        argv[argc++] = span_copy(word, at, sizeof(text) - (size_t)(at - text));
        at += word.n + 1;
    }
    return config_load(argc, argv, c, err);
}

START_TEST(has_defaults)
{
    struct config c;

    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_uint_eq(c.listen.count, 2);
    ck_assert_str_eq(c.listen.items[0], "unix:/run/flamed/flamed.sock");
    ck_assert_str_eq(c.listen.items[1], "127.0.0.1:7979");
    ck_assert_str_eq(c.config_file, CONFIG_FILE_DEFAULT);
    ck_assert_str_eq(c.user, "flamed");
    ck_assert_uint_eq(c.log_level, LOG_LEVEL_INFO);
    ck_assert_uint_eq(c.captures.max, 64);
    ck_assert_uint_eq(c.captures.max_bytes, (uint64_t)128 << 20);
    ck_assert_uint_eq(c.connections_max, 128);
    ck_assert_uint_eq(c.captures.samples_max, 20000000);
    ck_assert_uint_eq(c.answer_max_bytes, (uint64_t)64 << 20);
    ck_assert_uint_eq(c.idle_timeout_s, 30);
    ck_assert(!c.broker.attach_mount && !c.broker.bpf_only && !c.show_arguments && !c.only.help &&
              !c.only.version);
    config_deinit(&c);
}
END_TEST

START_TEST(reads_the_command_line)
{
    struct error err = ERROR_NULL;
    uint64_t given = 0;
    struct config c;
    const char *argv[] = { "flamed",
                           "--listen",
                           "127.0.0.1:1",
                           "--listen=unix:/a=b",
                           "--log-level=debug",
                           "--captures-max",
                           "3",
                           "--answer-max-bytes=1G",
                           "--show-arguments",
                           "yes",
                           "--symbols=memory",
                           "--store=/x",
                           "--help" };

    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_msg(config_parse_argv(ARRAY_SIZE(argv), (char *const *)argv, &c, &given, &err) == 0,
                  "%s", err.msg);
    ck_assert_uint_eq(c.listen.count, 2);
    ck_assert_str_eq(c.listen.items[0], "127.0.0.1:1");
    ck_assert_str_eq(c.listen.items[1], "unix:/a=b");
    ck_assert_uint_eq(c.log_level, LOG_LEVEL_DEBUG);
    ck_assert_uint_eq(c.captures.max, 3);
    ck_assert_uint_eq(c.answer_max_bytes, (uint64_t)1 << 30);
    ck_assert_uint_eq(c.symbols, CONFIG_SYMBOLS_MEMORY);
    ck_assert_str_eq(c.store.folder, "/x");
    ck_assert(c.show_arguments && c.only.help);
    config_deinit(&c);
}
END_TEST

static const struct {
    const char *line, *contains;
} BAD_LINES[] = {
    { "--nonsense", "no option '--nonsense'" },
    { "nonsense", "no option 'nonsense'" },
    { "--log_level=debug", "no option" },
    { "-h", "no option" },
    { "--listen", "needs a value" },
    { "--log-level=loud", "one of error, warning, info, debug" },
    { "--captures-max=0", "from 1 to 1024" },
    { "--captures-max=-1", "from 1 to 1024" },
    { "--captures-max=1e3", "from 1 to 1024" },
    { "--captures-max=99999999999999999999", "from 1 to 1024" },
    { "--answer-max-bytes=1", "a size from 1M to 2048M" },
    { "--answer-max-bytes=99999999999G", "a size" },
    { "--answer-max-bytes=M", "a size" },
    { "--show-arguments=maybe", "yes or no" },
    { "--store=", "a text" },
    { "--metrics-functions=(", "a regular expression" },
    { "--external-url=node-7:7979", "http:// or https:// with a host" },
    { "--external-url=https://node/?a=b", "http:// or https:// with a host" },
    { "--metrics-heaviest=51", "from 0 to 50" },
    { "--store=/a|--store=/b", "twice" },
    { "--help=1", "no value" },
    { "--config=/nonexistent/flamed.yaml", "/nonexistent/flamed.yaml" },
};

START_TEST(refuses_a_command_line)
{
    struct error err = ERROR_NULL;
    struct config c;

    ck_assert_int_lt(load(BAD_LINES[_i].line, &c, &err), 0);
    ck_assert_msg(strstr(err.msg, BAD_LINES[_i].contains) != NULL, "%s: %s", BAD_LINES[_i].line,
                  err.msg);
    config_deinit(&c);
}
END_TEST

START_TEST(reads_the_file)
{
    static const char TEXT[] =
        "# what this node does\n"
        "listen:\n  - 127.0.0.1:8000\n  - 'unix:/run/x.sock'\n"
        "log_level: warning\nstore: \"/data\"\ncaptures_max: 7\n"
        "answer_max_bytes: 128MiB\nshow_arguments: true\nsymbols: memory\n"
        "attach_mount: yes\nbpf_only: yes\nmetrics_functions: ['^shop\\.', 'Cart']\n"
        "external_url: https://node-7.example:7979/\n";
    struct error err = ERROR_NULL;
    struct config c;

    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_msg(config_parse_yaml(SPAN(TEXT), "f.yaml", 0, &c, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(c.listen.count, 2);
    ck_assert_str_eq(c.listen.items[0], "127.0.0.1:8000");
    ck_assert_str_eq(c.listen.items[1], "unix:/run/x.sock");
    ck_assert_uint_eq(c.log_level, LOG_LEVEL_WARNING);
    ck_assert_str_eq(c.store.folder, "/data");
    ck_assert_uint_eq(c.captures.max, 7);
    ck_assert_uint_eq(c.answer_max_bytes, (uint64_t)128 << 20);
    ck_assert_uint_eq(c.symbols, CONFIG_SYMBOLS_MEMORY);
    ck_assert(c.show_arguments && c.broker.attach_mount && c.broker.bpf_only);
    ck_assert_uint_eq(c.metrics.functions.count, 2);
    ck_assert_str_eq(c.metrics.functions.items[0], "^shop\\.");
    ck_assert_str_eq(c.metrics.external_url, "https://node-7.example:7979");
    ck_assert_uint_eq(c.connections_max, 128); /* the file does not set it */
    config_deinit(&c);
}
END_TEST

static const struct {
    const char *text, *contains, *place;
} BAD_FILES[] = {
    { "log_level: info\nlogg: 1\n", "there is no option 'logg'", "line 2" },
    { "log_level: info\n\n\ncaptures_max: many\n", "captures_max does not take 'many'", "line 4" },
    { "log_level: loud\n", "log_level does not take 'loud'", "line 1" },
    { "listen: 127.0.0.1:1\n", "listen does not take '127.0.0.1:1': it takes a list", "line 1" },
    { "listen: []\n", "", "" },
    { "captures_max: [1, 2]\n", "captures_max does not take 'a list'", "line 1" },
    { "- a\n- b\n", "a mapping", "line 1" },
    { "just text", "", "" },
    { "a: {b: c\n", "", "" },
    { "config: /x\n", "config", "" }, /* a file cannot name another one */
    { "help: true\n", "help", "" },
    { "store: *alias\n", "", "" },
    { "store: \"\\u0000\"\n", "", "" },
    { "\xff\xfe", "not UTF-8", "" },
    { "store: a\nstore: b\n", "store is given twice", "line 2" },
    { "access: [[[[[[[[[[[[[[[[[\n", "nested deeper than 16", "line 1" },
    { "\t- :\n", "", "" },
    { "log_level: info\nschedules:\n  - {name: a, every: 1h, for: 2h}\n", "for", "line 3" },
    { "triggers:\n  - {name: a, for: 1s, event: nonsense}\n", "an event: cpu", "line 2" },
    { "schedules:\n  - &a {name: a, every: 1h, for: 2s}\n  - *a\n", "alias", "line 3" },
    { "store: &a /x\nuser: *a\n", "alias", "line 2" },
    { "store: /x\n---\nstore: /y\n", "a second YAML document", "line 2" },
    { "metrics_functions: [a, '[']\n", "metrics_functions does not take '['", "line 1" },
    { "listen: [a, [b]]\n", "listen does not take 'a list'", "line 1" },
    { "store: {a: b}\n", "store does not take 'a mapping'", "line 1" },
};

START_TEST(refuses_a_file_with_its_place)
{
    struct error err = ERROR_NULL;
    struct config c;
    int r;

    ck_assert_int_eq(config_init(&c), 0);
    r = config_parse_yaml(span_of(BAD_FILES[_i].text), "f.yaml", 0, &c, &err);
    ck_assert_msg(r < 0, "row %d", _i);
    ck_assert_msg(strncmp(err.msg, "f.yaml", 6) == 0, "%s", err.msg);
    ck_assert_msg(strstr(err.msg, BAD_FILES[_i].contains) != NULL, "%s", err.msg);
    ck_assert_msg(strstr(err.msg, BAD_FILES[_i].place) != NULL, "%s", err.msg);
    config_deinit(&c);
}
END_TEST

START_TEST(an_empty_file_changes_nothing)
{
    static const char *const TEXTS[] = { NULL, "", "\n\n", "# nothing\n", "---\n", "---\n# x\n\n" };
    struct error err = ERROR_NULL;

    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) {
        struct config c;

        ck_assert_int_eq(config_init(&c), 0);
        ck_assert_msg(
            config_parse_yaml(TEXTS[i] ? span_of(TEXTS[i]) : SPAN_NULL, "f.yaml", 0, &c, &err) == 0,
            "row %zu: %s", i, err.msg);
        ck_assert_uint_eq(c.listen.count, 2);
        config_deinit(&c);
    }
}
END_TEST

START_TEST(reads_schedules_beside_options)
{
    static const char TEXT[] = "schedules:\n  - {name: a, every: 1h, for: 2s}\ncaptures_max: 7\n"
                               "triggers:\n  - {name: b, for: 2s, match: 'pod=\"x\"'}\n";
    struct error err = ERROR_NULL;
    struct config c;

    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_ptr_null(c.rules);
    for (int i = 0; i < 2; i++) { /* the second load frees the first one's values */
        ck_assert_msg(config_parse_yaml(SPAN(TEXT), "f.yaml", 0, &c, &err) == 0, "%s", err.msg);
        ck_assert_uint_eq(c.captures.max, 7);
        ck_assert_uint_eq(c.rules->schedule_count, 1);
        ck_assert_str_eq(c.rules->triggers[0].match.items[0].value, "x");
    }
    config_deinit(&c);
}
END_TEST

START_TEST(tells_what_differs)
{
    static const struct {
        const char *text, *names;
    } ROWS[] = {
        { "", "" },
        { "schedules:\n  - {name: a, every: 1h, for: 2s}\n", "" },
        { "captures_max: 64\nlog_level: info\n", "" },
        { "captures_max: 7\n", "captures_max" },
        { "listen: ['unix:/run/flamed/flamed.sock']\n", "listen" },
        { "listen: ['unix:/run/flamed/flamed.sock', '127.0.0.1:1']\n", "listen" },
        { "show_arguments: yes\nstore: /x\nlog_level: debug\nstore_max_bytes: 1G\n",
          "store, log_level, show_arguments, store_max_bytes" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(ROWS); i++) {
        _cleanup_buf_ struct buf names = BUF_NULL;
        struct error err = ERROR_NULL;
        struct config a, b;

        buf_init(&names, 4096);
        ck_assert_int_eq(config_init(&a), 0);
        ck_assert_int_eq(config_init(&b), 0);
        ck_assert_msg(config_parse_yaml(span_of(ROWS[i].text), "f", 0, &b, &err) == 0, "%s",
                      err.msg);
        config_differences(&a, &b, &names);
        ck_assert_str_eq(names.p ? names.p : "", ROWS[i].names);
        config_deinit(&a);
        config_deinit(&b);
    }
}
END_TEST

#define PUSH_TO(keys) "push:\n  - {name: pyro, url: 'http://p:4040'" keys "}\n"
#define ALERT(keys)                                                                                \
    "triggers:\n  - {name: gc, for: 2s, on: 'gc_share > 0.2 for 1m', webhook: {url: "              \
    "'http://w:1/a'" keys "}}\n"

/* Changes that no reload applies. */
static const struct {
    const char *before, *after, *names;
} TARGETS[] = {
    { PUSH_TO("") ALERT(""), PUSH_TO("") ALERT(""), "" },
    { PUSH_TO(", every: 60s"), PUSH_TO(""), "" },
    { "", PUSH_TO("") ALERT(""), "push to pyro, webhook of gc" },
    { PUSH_TO("") ALERT(""), "captures_max: 7\n", "captures_max, push to pyro, webhook of gc" },
    { PUSH_TO(""), PUSH_TO(", every: 30s"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", events: [wall]"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", protocol: pyroscope"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", access: own") "access:\n  - {name: own, user: 1, role: view}\n",
      "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", samples: 20"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", spool_bytes: 2097152"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", spool_age: 2h"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", link: 'https://flamed:7075'"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", proxy_url: 'http://proxy:1'"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", no_proxy: localhost"), "push to pyro" },
    { PUSH_TO(""), PUSH_TO(", tls_config: {insecure_skip_verify: true}"), "push to pyro" },
    { PUSH_TO(", match: 'service=\"shop\"'"), PUSH_TO(", match: 'service=\"cart\"'"),
      "push to pyro" },
    { PUSH_TO(", match: 'service=\"shop\"'"), PUSH_TO(", match: 'service=\"shop\"'"), "" },
    { PUSH_TO(", headers: {X-Scope: '1'}"), PUSH_TO(", headers: {X-Scope: '2'}"), "push to pyro" },
    { PUSH_TO(", basic_auth: {username: a, password: b}"),
      PUSH_TO(", basic_auth: {username: a, password: c}"), "push to pyro" },
    { PUSH_TO(", basic_auth: {username: a, password: b}"),
      PUSH_TO(", basic_auth: {username: c, password: b}"), "push to pyro" },
    { ALERT(", authorization: {credentials: b}"), ALERT(", authorization: {credentials: c}"),
      "webhook of gc" },
    { ALERT(", authorization: {credentials: b}"),
      ALERT(", authorization: {type: Basic, credentials: b}"), "webhook of gc" },
    { ALERT(""),
      "triggers:\n  - {name: gc, for: 2s, on: 'gc_share > 0.2 for 1m', webhook: {url: "
      "'http://w:1/b'}}\n",
      "webhook of gc" },
    { ALERT(""),
      "triggers:\n  - {name: gc, for: 2s, on: 'gc_share > 0.2 for 1m', webhook:\n     {url: "
      "'http://w:1/a', authorization:\n"
      "       {\n       credentials_file: /k\n       }}}\n",
      "webhook of gc" },
    { PUSH_TO(""),
      "triggers:\n  - {name: pyro, for: 2s, on: 'gc_share > 0.2 for 1m', webhook: {url: "
      "'http://p:4040'}}\n",
      "push to pyro, webhook of pyro" },
};

START_TEST(a_reload_names_changed_targets)
{
    _cleanup_buf_ struct buf names = BUF_UPTO(4096);
    struct error err = ERROR_NULL;
    struct config a, b;

    ck_assert_int_eq(config_init(&a), 0);
    ck_assert_int_eq(config_init(&b), 0);
    ck_assert_msg(config_parse_yaml(span_of(TARGETS[_i].before), "f", 0, &a, &err) == 0, "%s %s",
                  err.msg, err.remedy);
    ck_assert_msg(config_parse_yaml(span_of(TARGETS[_i].after), "f", 0, &b, &err) == 0, "%s %s",
                  err.msg, err.remedy);
    config_differences(&a, &b, &names);
    ck_assert_str_eq(names.p ? names.p : "", TARGETS[_i].names);
    config_deinit(&a);
    config_deinit(&b);
}
END_TEST

START_TEST(flags_override_the_file)
{
    char path[] = "/tmp/test_config.XXXXXX", line[256];
    static const char TEXT[] = "captures_max: 7\nstore: /from-file\nlisten: [127.0.0.1:1]\n";
    struct error err = ERROR_NULL;
    struct config c;
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, TEXT, sizeof(TEXT) - 1), (int)sizeof(TEXT) - 1);
    close(fd);
    snprintf(line, sizeof(line), "--store|/from-flag|--config|%s|--listen=127.0.0.1:2", path);
    ck_assert_msg(load(line, &c, &err) == 0, "%s", err.msg);
    ck_assert_str_eq(c.store.folder, "/from-flag");
    ck_assert_uint_eq(c.captures.max, 7);
    ck_assert_uint_eq(c.listen.count, 1);
    ck_assert_str_eq(c.listen.items[0], "127.0.0.1:2");
    config_deinit(&c);
    unlink(path);
}
END_TEST

START_TEST(help_names_every_option)
{
    static const char *const FLAGS[] = { "--config FILE", "--listen ADDR ...", "--store DIR",
                                         "--user NAME",   "--log-level LEVEL", "--version",
                                         "--help",        "--captures-max N" };
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct span rest, line;

    buf_init(&b, 65536);
    config_help(&b);
    ck_assert_int_eq(b.error, 0);
    for (size_t i = 0; i < ARRAY_SIZE(FLAGS); i++)
        ck_assert_msg(strstr(b.p, FLAGS[i]) != NULL, "%s", FLAGS[i]);
    ck_assert_ptr_nonnull(strstr(b.p, "Default: 64M."));
    rest = buf_span(&b);
    while (span_take_line(&rest, &line))
        ck_assert_msg(line.n <= 100, "%.*s", (int)line.n, line.p);
}
END_TEST

/* The text of the man page between its two marks comes from the table. FLAMED_UPDATE=1 writes
 * it. */
START_TEST(the_man_page_follows_the_table)
{
    static const char BEGIN[] = ".\\\" options begin\n", END[] = ".\\\" options end\n";
    _cleanup_buf_ struct buf page = BUF_NULL, want = BUF_NULL, made = BUF_NULL;
    const char *begin, *end;

    buf_init(&page, (size_t)1 << 20);
    buf_init(&want, (size_t)1 << 20);
    buf_init(&made, (size_t)1 << 20);
    ck_assert_int_eq(buf_read_at(&page, AT_FDCWD, FLAMED_TEST_DATA "/../../docs/flamed.8"), 0);
    begin = strstr(page.p, BEGIN);
    end = strstr(page.p, END);
    ck_assert(begin && end && begin < end);
    begin += sizeof(BEGIN) - 1;
    config_man(&want);
    if (getenv("FLAMED_UPDATE")) {
        FILE *f;

        buf_add(&made, page.p, (size_t)(begin - page.p));
        buf_add_span(&made, buf_span(&want));
        buf_add_str(&made, end);
        f = fopen(FLAMED_TEST_DATA "/../../docs/flamed.8", "w");
        ck_assert(f && fwrite(made.p, 1, made.n, f) == made.n && fclose(f) == 0);
        return;
    }
    ck_assert_msg(want.n == (size_t)(end - begin) && memcmp(want.p, begin, want.n) == 0,
                  "docs/flamed.8 differs from the table: run this test with FLAMED_UPDATE=1");
}
END_TEST

#define ALICE "access:\n  - {name: a, basic: alice, role: view}\n"

/* Passwords and tokens at a wrong place: the messages go to logs, so they must not show them. */
static const char *const SECRETS[] = {
    "basic_auth_users: alice:sesame\n",
    "basic_auth_users: sesame\n",
    "basic_auth_users:\n  alice:sesame\n",
    "basic_auth_users: {alice:sesame}\n",
    "basic_auth_users: {\"alice:sesame\": x}\n",
    "basic_auth_users: {\"alice:sesame\": x, \"alice:sesame\": x}\n",
    "basic_auth_users: [sesame]\n",
    "basic_auth_users:\n  alice: sesame\n",
    "basic_auth_users: {alice: x}\nbasic_auth_users: sesame\n",
    ALICE "basic_auth_users: sesame\n",
    ALICE "basic_auth_users: {alice: sesame}\n",
    ALICE "basic_auth_users: {\"alice:sesame\": sesame}\n",
    ALICE "basic_auth_users: {alice: [sesame]}\n",
    ALICE "basic_auth_users: {alice: {sesame: x}}\n",
    ALICE "alice:sesame: x\n",
    ALICE "basic_auth_users:\nalice:sesame\n",
    "access:\n  - {name: a, basic: \"alice:sesame\", role: view}\n",
    "access:\n  - {name: a, basic: [sesame], role: view}\n",
    "access:\n  - {name: a, token_sha256: flamed_sesame, role: view}\n",
    "access:\n  - {name: a, token_sha256: sesame, role: view}\n",
    "access:\n  - {name: flamed_sesame, role: view}\n",
    "access:\n  - {name: a, role: flamed_sesame}\n",
    "access:\n  - {flamed_sesame: a}\n",
    "access:\n  - flamed_sesame\n",
    "access: flamed_sesame\n",
    "access: sesame\n",
    "access:\n  - sesame\n",
    "alice:sesame: x\nalice:sesame: x\n",
};

START_TEST(secrets_are_not_repeated)
{
    struct error err = ERROR_NULL;
    struct config c;

    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_int_eq(config_parse_yaml(span_of(SECRETS[_i]), "f.yaml", 0, &c, &err), -EINVAL);
    ck_assert_msg(!strstr(err.msg, "sesame"), "%s", err.msg);
    ck_assert_msg(!strstr(err.remedy, "sesame"), "%s", err.remedy);
    config_deinit(&c);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("config");

    tcase_add_test(tc, has_defaults);
    tcase_add_test(tc, reads_the_command_line);
    tcase_add_loop_test(tc, refuses_a_command_line, 0, ARRAY_SIZE(BAD_LINES));
    tcase_add_test(tc, reads_the_file);
    tcase_add_loop_test(tc, refuses_a_file_with_its_place, 0, ARRAY_SIZE(BAD_FILES));
    tcase_add_loop_test(tc, secrets_are_not_repeated, 0, ARRAY_SIZE(SECRETS));
    tcase_add_test(tc, an_empty_file_changes_nothing);
    tcase_add_test(tc, reads_schedules_beside_options);
    tcase_add_test(tc, tells_what_differs);
    tcase_add_loop_test(tc, a_reload_names_changed_targets, 0, ARRAY_SIZE(TARGETS));
    tcase_add_test(tc, flags_override_the_file);
    tcase_add_test(tc, help_names_every_option);
    tcase_add_test(tc, the_man_page_follows_the_table);
    return suite_run_case("config", tc);
}
