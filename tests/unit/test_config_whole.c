/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration is read completely or not at all. A file cut at any byte, or any failing call,
 * gives no rule more rights than the whole file does. */
#include "suite.h"

#include "access/access_rules.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "config.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ERRNO_MAX 133
#define TOKEN_SHA256 "5fc5c3cbd6b0b42a8ba6be2d6b4c7fa7b0f6bd8f3d0f3f4fa3cd8a2b5b6f4f1b"

/* The role of each rule comes last, as docs/access.md demands. A cut rule then has none. */
static const char TEXT[] =
    "log_level: info\n"
    "access:\n"
    "  - {name: guest, user: \"1000\", role: health}\n"
    "  - name: alice\n    user: \"10011\"\n    sees: own\n    role: attach\n"
    "  - name: team\n    group: \"12345\"\n"
    "    match: ['namespace=\"team-a\"', 'container=\"app\"']\n    role: attach\n"
    "  - name: scraper\n    token_sha256: " TOKEN_SHA256 "\n"
    "    match: [namespace=\"prod\"]\n    role: profile\n"
    "  - name: grafana\n    basic: grafana\n    role: profile\n"
    "  - name: admin\n    user: \"10012\"\n    role: manage\n"
    "basic_auth_users:\n"
    "  grafana: $2y$10$abcdefghijklmnopqrstuuJ4K8ZzmcYZJ5w8vQ7n0bXoQ1hG0pZ1a\n";

static struct config whole;

static int parse(const char *text, size_t n, struct config *c)
{
    struct error err = ERROR_NULL;

    ck_assert_int_eq(config_init(c), 0);
    return config_parse_yaml((struct span){ text, n }, "f.yaml", 0, c, &err);
}

static void setup(void)
{
    ck_assert_int_eq(parse(TEXT, strlen(TEXT), &whole), 0);
    ck_assert_uint_eq(whole.access->count, 6);
}

static void teardown(void)
{
    config_deinit(&whole);
}

static bool is_same_rule(const struct access_rule *a, const struct access_rule *b)
{
    return a->by == b->by && a->role == b->role && a->own == b->own &&
           strcmp(a->name, b->name) == 0 && strcmp(a->user, b->user) == 0 &&
           strcmp(a->group, b->group) == 0 && strcmp(a->shown, b->shown) == 0 &&
           strcmp(a->scope, b->scope) == 0 && a->seen.count == b->seen.count &&
           memcmp(a->hash, b->hash, sizeof(a->hash)) == 0;
}

/* Each rule of a cut file is a rule of the whole file. No rule of a user comes before another that
 * was first. */
START_TEST(a_file_that_is_cut_has_no_other_rules)
{
    size_t taken = 0;

    for (size_t n = 0; n < strlen(TEXT); n++) {
        struct config c;

        if (parse(TEXT, n, &c) == 0) {
            taken++;
            for (size_t i = 0; c.access && i < c.access->count; i++)
                ck_assert_msg(is_same_rule(&c.access->rules[i], &whole.access->rules[i]),
                              "%zu bytes: the rule %s", n, c.access->rules[i].name);
        }
        config_deinit(&c);
    }
    ck_assert_uint_gt(taken, 10);
}
END_TEST

/* The same with one byte missing. */
START_TEST(a_byte_that_is_lost_gives_no_other_token)
{
    for (size_t at = 0; at < strlen(TEXT); at++) {
        char text[sizeof(TEXT)];
        struct config c;

        memcpy(text, TEXT, at);
        memcpy(text + at, TEXT + at + 1, sizeof(TEXT) - at - 1);
        if (parse(text, strlen(text), &c) == 0) {
            for (size_t i = 0; c.access && i < c.access->count; i++) {
                const struct access_rule *rule = &c.access->rules[i];

                if (rule->by == ACCESS_BY_TOKEN)
                    ck_assert(memcmp(rule->hash, whole.access->rules[3].hash, sizeof(rule->hash)) ==
                              0);
                ck_assert(rule->by != ACCESS_BY_BASIC || rule->bcrypt[0]);
            }
        }
        config_deinit(&c);
    }
}
END_TEST

/* A token is valid only as a whole, without an additional letter. */
START_TEST(a_token_counts_whole)
{
    char token[ACCESS_TOKEN_TEXT], hash[2 * ACCESS_HASH_BYTES + 1], longer[2 * ACCESS_TOKEN_TEXT];
    struct access_rules *rules = NULL;
    _cleanup_buf_ struct buf text = BUF_NULL;
    size_t n;

    ck_assert_int_eq(access_token_new(token, hash), 0);
    buf_init(&text, 4096);
    buf_printf(&text, "access:\n  - {name: a, token_sha256: %s, role: manage}\n", hash);
    ck_assert_int_eq(access_rules_parse(buf_span(&text), "f.yaml", &rules, NULL), 0);
    n = strlen(token);
    ck_assert_ptr_nonnull(access_rules_token(rules, span_of(token)));
    for (size_t i = 0; i < n; i++) {
        ck_assert_ptr_null(access_rules_token(rules, (struct span){ token, i }));
        ck_assert_ptr_null(access_rules_token(rules, (struct span){ token + i + 1, n - i - 1 }));
        for (int bit = 0; bit < 8; bit++) {
            token[i] = (char)(token[i] ^ 1 << bit);
            ck_assert_ptr_null(access_rules_token(rules, (struct span){ token, n }));
            token[i] = (char)(token[i] ^ 1 << bit);
        }
    }
    for (int c = 0; c < 256; c++) {
        snprintf(longer, sizeof(longer), "%s%c", token, c);
        ck_assert_ptr_null(access_rules_token(rules, (struct span){ longer, n + 1 }));
    }
    access_rules_free(rules);
}
END_TEST

/* ---- the file ---- */

static int make_file(const char *text, size_t n)
{
    FILE *f = tmpfile();
    int fd;

    ck_assert(f && fwrite(text, 1, n, f) == n && fflush(f) == 0);
    fd = dup(fileno(f));
    fclose(f);
    return fd;
}

static void make_old(int fd)
{
    const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

    ck_assert_int_eq(futimens(fd, old), 0);
}

/* Reads @fd in a process in which @call fails with @error. Returns true if it has all rules. */
static int read_where_fails(int fd, int call, int error)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        struct error err = ERROR_NULL;
        struct config c;
        int r;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (config_init(&c) != 0 ||
            seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error), call, 1,
                             SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)fd)) != 0 ||
            seccomp_load(filter) != 0)
            _exit(99);
        r = config_parse_fd(fd, 0, &c, &err);
        _exit(r == 0 ? 1 : c.access || !err.msg[0] ? 2 : 0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

START_TEST(a_call_that_fails_gives_no_rule)
{
    static const int CALLS[] = { SCMP_SYS(read), SCMP_SYS(lseek), SCMP_SYS(newfstatat) };
    int fd = make_file(TEXT, strlen(TEXT));

    make_old(fd);
    ck_assert_int_eq(read_where_fails(fd, SCMP_SYS(getcwd), EIO), 1);
    for (size_t i = 0; i < ARRAY_SIZE(CALLS); i++) {
        for (int error = 1; error <= ERRNO_MAX; error++) {
            if (error == EINTR && i == 0) /* it is tried again */
                continue;
            ck_assert_msg(read_where_fails(fd, CALLS[i], error) == 0, "call %zu: %s", i,
                          strerror(error));
        }
    }
    close(fd);
}
END_TEST

/* Runs after each pause between two readings of a file, so that a busy machine cannot delay it;
 * NULL: none. */
static void (*after_pause)(void);
static int written_fd;
static unsigned pauses;

int __real_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
    int r = __real_nanosleep(time, rest);

    pauses++;
    if (after_pause)
        after_pause();
    return r;
}

/* Writes the rest of a file that has its first half, once. */
static void write_rest(void)
{
    size_t half = strlen(TEXT) / 2;

    if (pauses == 1)
        ck_assert(pwrite(written_fd, TEXT + half, strlen(TEXT) - half, (off_t)half) ==
                  (ssize_t)(strlen(TEXT) - half));
}

START_TEST(a_file_that_is_being_written_is_read_when_it_is_whole)
{
    int fd = make_file(TEXT, strlen(TEXT) / 2);
    struct error err = ERROR_NULL;
    struct config c;

    written_fd = fd;
    after_pause = write_rest;
    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_msg(config_parse_fd(fd, 0, &c, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(c.access->count, whole.access->count);
    ck_assert_uint_ge(pauses, 1);
    config_deinit(&c);
    close(fd);
}
END_TEST

static void write_on(void)
{
    ck_assert_int_eq(pwrite(written_fd, "#", 1, (off_t)strlen(TEXT)), 1);
}

START_TEST(a_file_that_is_always_written_is_refused)
{
    int fd = make_file(TEXT, strlen(TEXT));
    struct error err = ERROR_NULL;
    struct config c;

    written_fd = fd;
    after_pause = write_on;
    ck_assert_int_eq(config_init(&c), 0);
    ck_assert_int_eq(config_parse_fd(fd, 0, &c, &err), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.msg, "writes to the configuration"));
    ck_assert_ptr_null(c.access);
    config_deinit(&c);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_whole");
    TCase *tc = tcase_create("config_whole");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    /* This one forks hundreds of times, which costs less while the process is small. */
    tcase_add_test(tc, a_call_that_fails_gives_no_rule);
    tcase_add_test(tc, a_file_that_is_cut_has_no_other_rules);
    tcase_add_test(tc, a_byte_that_is_lost_gives_no_other_token);
    tcase_add_test(tc, a_token_counts_whole);
    tcase_add_test(tc, a_file_that_is_being_written_is_read_when_it_is_whole);
    tcase_add_test(tc, a_file_that_is_always_written_is_refused);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
