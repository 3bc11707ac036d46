/* SPDX-License-Identifier: Apache-2.0 */
/* The audit: as fields in the journal, and as lines in a file that can be reopened. */
#include "serve_fixture.h"

#include "access/access_rules.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/audit.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char place[64], journal_path[96], file_path[96];
static int journal;

static int open_file(void)
{
    return open(file_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static void start_audited(void)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct serve_opts o = USUAL;

    snprintf(place, sizeof(place), "/tmp/test_audit.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(place));
    snprintf(journal_path, sizeof(journal_path), "%s/journal", place);
    snprintf(file_path, sizeof(file_path), "%s/file", place);
    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", journal_path);
    journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(journal, (struct sockaddr *)&sa, sizeof(sa)), 0);
    o.journal_fd = audit_journal_open(journal_path);
    o.audit_fd = open_file();
    ck_assert_int_ge(o.journal_fd, 0);
    start_full_with(&o);
}

static void stop_audited(void)
{
    stop();
    close(journal);
    unlink(journal_path);
    unlink(file_path);
    ck_assert_int_eq(rmdir(place), 0);
}

/* Returns the next entry in the journal, "" without one. */
static const char *entry(void)
{
    static char text[65536];
    ssize_t n = recv(journal, text, sizeof(text) - 1, 0);

    text[MAX(n, 0)] = '\0';
    return text;
}

static size_t lines_of_file(struct buf *text)
{
    size_t n = 0;

    buf_init(text, 1 << 20);
    ck_assert_int_eq(buf_read_at(text, AT_FDCWD, file_path), 0);
    for (size_t i = 0; i < text->n; i++)
        n += text->p[i] == '\n';
    return n;
}

static void take_profile(void)
{
    _cleanup_reply_ struct reply r;

    ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &r);
    ck_assert_uint_eq(r.status, 200);
}

START_TEST(the_journal_gets_fields)
{
    static const char *const FIELDS[] = {
        "\nMESSAGE=audit {\"time\":",   "\nFLAMED_ACTION=capture\n",  "\nFLAMED_SUBJECT=user 0\n",
        "\nFLAMED_KNOWN_BY=kernel\n",   "\nFLAMED_VIA=TCP\n",         "\nFLAMED_ROUTE=/profile\n",
        "\nFLAMED_STATUS=200\n",        "\nFLAMED_TARGET_PID=1000\n", "\nFLAMED_TARGET_MAIN=",
        "\nSYSLOG_IDENTIFIER=flamed\n",
    };
    const char *text;

    take_profile();
    text = entry();
    for (size_t i = 0; i < ARRAY_SIZE(FIELDS); i++)
        ck_assert_msg(strstr(text, FIELDS[i]) != NULL, "%s is not in\n%s", FIELDS[i], text);
    ck_assert_str_eq(entry(), "");
}
END_TEST

/* A client's text stays in one field, whatever it contains. */
START_TEST(a_value_is_no_field)
{
    _cleanup_reply_ struct reply r;
    unsigned fields = 0;
    const char *text;

    ask("GET", "/profile?pid=1000&seconds=0.1&title=a%0AFLAMED_SUBJECT=x%0AB",
        "Host: evil.example\r\n", &r);
    ck_assert_uint_eq(r.status, 403);
    text = entry();
    for (const char *at = text; (at = strstr(at, "\nFLAMED_SUBJECT=")); at++)
        fields++;
    ck_assert_msg(fields == 1, "%s", text);
}
END_TEST

START_TEST(the_file_gets_lines_and_is_opened_again)
{
    _cleanup_buf_ struct buf first = BUF_NULL, old = BUF_NULL, second = BUF_NULL;
    char moved[128];
    json_t *line;

    take_profile();
    take_profile();
    ck_assert_uint_eq(lines_of_file(&first), 2);
    line = json_loadb(first.p, first.n, JSON_DISABLE_EOF_CHECK, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(line, "route")), "/profile");
    json_decref(line);
    snprintf(moved, sizeof(moved), "%s.1", file_path);
    ck_assert_int_eq(rename(file_path, moved), 0);
    take_profile(); /* still writes to the moved file */
    serve_set_audit_file(serve, open_file());
    take_profile();
    ck_assert_uint_eq(lines_of_file(&second), 1);
    buf_init(&old, 1 << 20);
    ck_assert_int_eq(buf_read_at(&old, AT_FDCWD, moved), 0);
    ck_assert_uint_gt(old.n, first.n);
    unlink(moved);
}
END_TEST

/* A full disk takes a part of a line. The rest follows before any other line. */
START_TEST(a_full_disk_tears_no_line)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct rlimit limit = { 0 }, before;
    struct span rest, line;
    _cleanup_reply_ struct reply metrics;
    size_t n = 0;

    take_profile();
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_uint_eq(lines_of_file(&text), 1);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = text.n + 40;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    take_profile(); /* 40 bytes of this line are written */
    take_profile(); /* and no byte of this one */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    take_profile();
    buf_deinit(&text);
    ck_assert_uint_eq(lines_of_file(&text), 3);
    rest = buf_span(&text);
    while (span_take_line(&rest, &line)) {
        json_t *j = json_loadb(line.p, line.n, 0, NULL);

        ck_assert_msg(j != NULL, "line %zu is torn: %.*s", n, (int)line.n, line.p);
        json_decref(j);
        n++;
    }
    ck_assert_uint_eq(n, 3);
    ask("GET", "/metrics", NULL, &metrics);
    ck_assert_ptr_nonnull(
        strstr(metrics.body.p, "\nflamed_audit_unlogged_total{reason=\"file\"} 1\n"));
}
END_TEST

/* ---- refusals ---- */

#define MALLORY 61777 /* users that no machine has */
#define BOB 61778

static int connect_tcp_as(uid_t uid)
{
    int fd;

    ck_assert_int_eq(seteuid(uid), 0);
    fd = client_connect_tcp(port);
    ck_assert_int_eq(seteuid(0), 0);
    return fd;
}

static void be_refused(uid_t uid)
{
    _cleanup_close_ int fd = connect_tcp_as(uid);
    _cleanup_reply_ struct reply r;

    ask_on(fd, "GET", "/api/v1/audit", NULL);
    client_read(fd, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 403);
}

static size_t entries_with(const char *text)
{
    const char *e;
    size_t n = 0;

    while (*(e = entry()))
        n += strstr(e, text) != NULL;
    return n;
}

/* Returns the lines of GET /api/v1/audit that contain @text. */
static size_t kept_with(const char *text)
{
    _cleanup_reply_ struct reply r;
    size_t n = 0;

    ask("GET", "/api/v1/audit?limit=1000", NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    for (const char *at = r.body.p; (at = strstr(at, text)); at++)
        n++;
    return n;
}

START_TEST(refusals_of_one_hide_no_other)
{
    _cleanup_reply_ struct reply metrics;

    be_refused(BOB);
    for (int i = 0; i < 300; i++)
        be_refused(MALLORY);
    be_refused(BOB);
    ck_assert_uint_eq(kept_with("\"subject\":\"user 61778\""), 2);
    ck_assert_uint_eq(kept_with("\"subject\":\"user 61777\""), AUDIT_REFUSALS_SHARE);
    ask("GET", "/metrics", NULL, &metrics);
    ck_assert_ptr_nonnull(strstr(metrics.body.p, "\nflamed_audit_total{action=\"refusal\"} 302\n"));
    ck_assert_ptr_nonnull(
        strstr(metrics.body.p, "\nflamed_audit_unlogged_total{reason=\"limit\"} 2"));
}
END_TEST

START_TEST(each_has_lines_of_the_log)
{
    size_t mallory = 0;

    for (int i = 0; i < 60; i++) {
        be_refused(MALLORY);
        mallory += entries_with("FLAMED_SUBJECT=user 61777\n");
    }
    be_refused(BOB);
    ck_assert_uint_eq(entries_with("FLAMED_SUBJECT=user 61778\n"), 1);
    ck_assert_uint_ge(mallory, AUDIT_LINES_AT_ONCE);
    ck_assert_uint_le(mallory, 2 * AUDIT_LINES_AT_ONCE); /* budget came back meantime */
}
END_TEST

/* Deletes a capture @times as @uid, who has the right to. */
static void remove_captures(uid_t uid, int times)
{
    for (int i = 0; i < times; i++) {
        _cleanup_close_ int fd = connect_tcp_as(uid);
        _cleanup_reply_ struct reply r;

        ask_on(fd, "DELETE", "/api/v1/captures/" FAKE_ID, NULL);
        client_read(fd, /* head_only= */ false, &r);
        ck_assert_uint_eq(r.status, 204);
    }
}

START_TEST(acts_of_one_do_not_fill_the_log)
{
    int times = 3 * AUDIT_ACTS_AT_ONCE;
    uint64_t began_ns = clock_monotonic_ns(), ns;
    size_t logged = 0;

    for (int i = 0; i < times; i++) {
        remove_captures(MALLORY, 1);
        logged += entries_with("FLAMED_SUBJECT=user 61777\n");
    }
    ns = clock_monotonic_ns() - began_ns;
    ck_assert_uint_ge(logged, AUDIT_ACTS_AT_ONCE);
    ck_assert_uint_le(logged, AUDIT_ACTS_AT_ONCE + ns / AUDIT_ACT_NS + 1);
    ck_assert_uint_lt(logged, (size_t)times);
    ck_assert_uint_eq(kept_with("\"subject\":\"user 61777\""),
                      (size_t)times); /* the list has all lines */
    remove_captures(BOB, 1);
    ck_assert_uint_eq(entries_with("FLAMED_SUBJECT=user 61778\n"), 1);
}
END_TEST

/* "mallory\n{\"x:secret", as Basic. */
#define CLAIM "Authorization: Basic bWFsbG9yeQp7Ing6c2VjcmV0\r\n"
#define NO_TOKEN "Authorization: Bearer flamed_secret\r\n"

START_TEST(a_wrong_password_tells_whose_it_should_be)
{
    struct access_rules *rules = calloc(1, sizeof(*rules));
    _cleanup_reply_ struct reply r, second;
    const char *text;

    ck_assert_ptr_nonnull(rules);
    rules->count = 2;
    rules->rules[0] = (struct access_rule){ .name = "a",
                                            .by = ACCESS_BY_BASIC,
                                            .shown = "alice",
                                            .bcrypt = "$2b$04$abcdefghijklmnopqrstuuinwY/"
                                                      "tkBVrn3xrxQI/TgnMHhkvl85RW",
                                            .role = ROLE_VIEW };
    rules->rules[1] = (struct access_rule){ .name = "b", .by = ACCESS_BY_TOKEN, .role = ROLE_VIEW };
    serve_set_access(serve, rules);
    ask("GET", "/api/v1/jvms", CLAIM, &r);
    ck_assert_uint_eq(r.status, 401);
    text = entry();
    ck_assert_msg(strstr(text, "\nFLAMED_CLAIMED=mallory?{\"x\n") != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\"claimed\":\"mallory\\n{\\\"x\""));
    ck_assert_ptr_nonnull(strstr(text, "\nFLAMED_ADDRESS=127.0.0.1\n"));
    ck_assert_ptr_nonnull(strstr(text, "\"peer_uid\":0"));
    ck_assert_ptr_nonnull(strstr(text, "\nFLAMED_SUBJECT=nobody\n"));
    ck_assert_ptr_null(strstr(text, "secret"));
    ask("GET", "/api/v1/jvms", NO_TOKEN, &second);
    ck_assert_uint_eq(second.status, 401);
    text = entry();
    ck_assert_ptr_nonnull(strstr(text, "\nFLAMED_ADDRESS=127.0.0.1\n"));
    ck_assert_ptr_null(strstr(text, "CLAIMED"));
    ck_assert_ptr_null(strstr(text, "secret"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_audit");
    TCase *audited = tcase_create("audited");

    if (geteuid() != 0)
        return 77;
    tcase_add_checked_fixture(audited, start_audited, stop_audited);
    tcase_set_timeout(audited, 60);
    tcase_add_test(audited, the_journal_gets_fields);
    tcase_add_test(audited, a_value_is_no_field);
    tcase_add_test(audited, the_file_gets_lines_and_is_opened_again);
    tcase_add_test(audited, a_full_disk_tears_no_line);
    tcase_add_test(audited, refusals_of_one_hide_no_other);
    tcase_add_test(audited, each_has_lines_of_the_log);
    tcase_add_test(audited, acts_of_one_do_not_fill_the_log);
    tcase_add_test(audited, a_wrong_password_tells_whose_it_should_be);
    suite_add_tcase(s, audited);
    return run_suite(s);
}
