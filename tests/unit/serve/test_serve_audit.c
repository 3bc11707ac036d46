/* SPDX-License-Identifier: Apache-2.0 */
/* Who did what: as fields of the journal, and as lines of a file that is opened again. */
#include "serve_fixture.h"

#include "base/cleanup.h"
#include "serve/audit.h"

#include <fcntl.h>
#include <jansson.h>
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
    start_with(&o);
}

static void stop_audited(void)
{
    stop();
    close(journal);
    unlink(journal_path);
    unlink(file_path);
    ck_assert_int_eq(rmdir(place), 0);
}

/* The next entry that the journal got, "" where there is none. */
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

/* What somebody sends stands in one field, whatever is in it. */
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
    take_profile(); /* goes to the one that was moved */
    serve_set_audit_file(serve, open_file());
    take_profile();
    ck_assert_uint_eq(lines_of_file(&second), 1);
    buf_init(&old, 1 << 20);
    ck_assert_int_eq(buf_read_at(&old, AT_FDCWD, moved), 0);
    ck_assert_uint_gt(old.n, first.n);
    unlink(moved);
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
    suite_add_tcase(s, audited);
    return run_suite(s);
}
