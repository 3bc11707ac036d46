/* SPDX-License-Identifier: Apache-2.0 */
/* push: the bodies that wait for a target, their limits, restarts, and a full disk. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "push/push.h"
#include "push/spool.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MINUTE (60 * NSEC_PER_SEC)

static char folder[] = "/tmp/flamed-spool.XXXXXX";
static int folder_fd;
static uint64_t first; /* number of the body that expect_first() found */

static void setup(void)
{
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(folder_fd, 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void teardown(void)
{
    close(folder_fd);
    ck_assert_int_eq(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static struct spool *opened(const char *kind, uint64_t max_bytes)
{
    const struct spool_opts o = { .store_fd = folder_fd,
                                  .name = "engine",
                                  .kind = kind,
                                  .max_bytes = max_bytes,
                                  .max_age_ns = 60 * MINUTE };
    struct spool *s = NULL;

    ck_assert_int_eq(spool_open(&o, &s), 0);
    return s;
}

static void expect_first(struct spool *s, const char *text)
{
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, SPOOL_BODY_MAX);
    ck_assert_int_eq(spool_first(s, &b, &first), text != NULL);
    if (text)
        ck_assert(span_eq_str(buf_span(&b), text));
}

static struct spool_stats stats_of(const struct spool *s)
{
    struct spool_stats st;

    spool_stats(s, &st);
    return st;
}

START_TEST(hands_out_the_oldest_first)
{
    struct spool *s = opened("otlp", 1000);

    expect_first(s, NULL);
    ck_assert_int_eq(spool_add(s, MINUTE, SPAN("one")), 0);
    ck_assert_int_eq(spool_add(s, MINUTE, SPAN("other half")), 0);
    ck_assert_int_eq(spool_add(s, 2 * MINUTE, SPAN("two")), 0);
    ck_assert_uint_eq(stats_of(s).bodies, 3);
    ck_assert_uint_eq(stats_of(s).minutes, 2);
    ck_assert_uint_eq(stats_of(s).bytes, 16);
    ck_assert_uint_eq(stats_of(s).oldest_ns, MINUTE);
    expect_first(s, "one");
    expect_first(s, "one");
    spool_remove(s, first);
    expect_first(s, "other half");
    spool_remove(s, first);
    spool_remove(s, first); /* it is gone; the next one must stay */
    expect_first(s, "two");
    spool_remove(s, first);
    spool_remove(s, first);
    expect_first(s, NULL);
    ck_assert(spool_is_empty(s));
    ck_assert_uint_eq(stats_of(s).bytes, 0);
    spool_close(s);
}
END_TEST

START_TEST(survives_a_restart)
{
    struct spool *s = opened("otlp", 1000);

    ck_assert_int_eq(spool_add(s, 9 * MINUTE, SPAN("nine")), 0);
    ck_assert_int_eq(spool_add(s, 10 * MINUTE, SPAN("ten")), 0);
    spool_close(s);
    s = opened("otlp", 1000);
    ck_assert_uint_eq(stats_of(s).bodies, 2);
    ck_assert_int_eq(spool_add(s, 10 * MINUTE, SPAN("ten again")), 0); /* a new number */
    expect_first(s, "nine");
    spool_remove(s, first);
    expect_first(s, "ten");
    spool_remove(s, first);
    expect_first(s, "ten again");
    spool_close(s);
    s = opened("pyroscope", 1000); /* another protocol: earlier bodies are useless */
    expect_first(s, NULL);
    spool_close(s);
    s = opened("otlp", 1000);
    expect_first(s, NULL);
    spool_close(s);
}
END_TEST

START_TEST(drops_the_oldest_beyond_its_bounds)
{
    struct spool *s = opened("otlp", 10);

    for (uint64_t i = 1; i <= 5; i++)
        ck_assert_int_eq(spool_add(s, i * MINUTE, SPAN("1234")), 0);
    ck_assert_uint_eq(stats_of(s).bodies, 2);
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_TOO_MUCH], 3);
    ck_assert_uint_eq(stats_of(s).oldest_ns, 4 * MINUTE);
    ck_assert_int_eq(spool_add(s, 6 * MINUTE, SPAN("more than ten")), -EFBIG);
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_TOO_MUCH], 4);
    spool_expire(s, 64 * MINUTE); /* an hour is within the age limit */
    ck_assert_uint_eq(stats_of(s).bodies, 2);
    spool_expire(s, 64 * MINUTE + 1);
    ck_assert_uint_eq(stats_of(s).bodies, 1);
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_TOO_OLD], 1);
    spool_expire(s, MINUTE); /* the clock was set back */
    ck_assert_uint_eq(stats_of(s).bodies, 1);
    spool_close(s);
}
END_TEST

/* A body that a limit drops while it is under way counts once. The next one stays. */
START_TEST(removes_what_was_sent_alone)
{
    struct spool *s = opened("otlp", 10);

    ck_assert_int_eq(spool_add(s, MINUTE, SPAN("1234")), 0);
    ck_assert_int_eq(spool_add(s, 2 * MINUTE, SPAN("5678")), 0);
    expect_first(s, "1234");
    ck_assert_int_eq(spool_add(s, 3 * MINUTE, SPAN("9012")), 0); /* drops the first one */
    spool_remove(s, first);
    ck_assert_uint_eq(stats_of(s).bodies, 2);
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_TOO_MUCH], 1);
    expect_first(s, "5678");
    spool_expire(s, 62 * MINUTE + 1);
    spool_remove(s, first);
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_TOO_OLD], 1);
    expect_first(s, "9012");
    spool_close(s);
}
END_TEST

/* Writes the path of the body that is the first of its spool, from the first minute. */
static void path_of_first(char path[128])
{
    snprintf(path, 128, "%s/push/engine/%020llu-%016x.otlp", folder, (unsigned long long)MINUTE, 0);
}

/* A missing folder is like a full disk: a little stays in memory, and the rest is counted. */
START_TEST(goes_on_without_a_disk)
{
    static char large[1 << 20];
    struct spool *s = opened("otlp", (uint64_t)64 << 20);
    char path[128];

    ck_assert_int_eq(spool_add(s, MINUTE, SPAN("written")), 0);
    path_of_first(path);
    ck_assert_int_eq(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/push/engine", folder);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(spool_add(s, 2 * MINUTE, SPAN("in memory")), 0);
    ck_assert(stats_of(s).in_memory);
    expect_first(s, "in memory"); /* unreadable bodies are lost and counted */
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_UNREADABLE], 1);
    for (uint64_t i = 0; i < 8; i++)
        spool_add(s, (3 + i) * MINUTE, (struct span){ large, sizeof(large) });
    ck_assert_uint_le(stats_of(s).bytes, SPOOL_MEMORY_BYTES);
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_TOO_MUCH], 5);
    ck_assert_uint_eq(stats_of(s).bodies, 4);
    expect_first(s, "in memory");
    spool_remove(s, first);
    ck_assert_int_eq(spool_add(s, 12 * MINUTE, SPAN("room again")), 0);
    spool_close(s);
}
END_TEST

START_TEST(waits_for_a_descriptor)
{
    struct spool *s = opened("otlp", 1000);
    _cleanup_buf_ struct buf b = BUF_UPTO(SPOOL_BODY_MAX);
    struct rlimit old, none;

    for (uint64_t i = 1; i <= 3; i++)
        ck_assert_int_eq(spool_add(s, i * MINUTE, SPAN("1234")), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){ 0, old.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 100; i++)
        ck_assert(!spool_first(s, &b, &first));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert_uint_eq(stats_of(s).bodies, 3);
    expect_first(s, "1234");
    ck_assert_uint_eq(stats_of(s).oldest_ns, MINUTE);
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_UNREADABLE], 0);
    spool_close(s);
}
END_TEST

/* The disk refuses the first body: it is tried again, and does not keep the others for ever. */
START_TEST(gives_an_unreadable_body_up)
{
    struct spool *s = opened("otlp", 1000);
    char path[128];

    path_of_first(path);
    ck_assert_int_eq(spool_add(s, MINUTE, SPAN("one")), 0);
    ck_assert_int_eq(spool_add(s, 2 * MINUTE, SPAN("two")), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    for (int i = 0; i < 9; i++)
        expect_first(s, NULL);
    ck_assert_uint_eq(stats_of(s).bodies, 2);
    expect_first(s, "two");
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_UNREADABLE], 1);
    spool_close(s);
}
END_TEST

START_TEST(drops_a_body_of_another_size)
{
    struct spool *s = opened("otlp", 1000);
    char path[128];

    path_of_first(path);
    ck_assert_int_eq(spool_add(s, MINUTE, SPAN("one")), 0);
    ck_assert_int_eq(spool_add(s, 2 * MINUTE, SPAN("two")), 0);
    ck_assert_int_eq(truncate(path, 1), 0);
    expect_first(s, "two");
    ck_assert_uint_eq(stats_of(s).lost[SPOOL_UNREADABLE], 1);
    spool_close(s);
}
END_TEST

/* Foreign files are removed, and links are not followed. */
START_TEST(takes_its_own_files_alone)
{
    static const char *const NAMES[] = { "x", "1-1.otlp",
                                         "99999999999999999999-0000000000000000.otlp",
                                         "00000000060000000000-0000000000000000.pyroscope",
                                         ".new" };
    struct spool *s = opened("otlp", 1000);
    char path[128];

    spool_close(s);
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        snprintf(path, sizeof(path), "%s/push/engine/%s", folder, NAMES[i]);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    snprintf(path, sizeof(path), "%s/push/engine/%020llu-%016x.otlp", folder,
             (unsigned long long)MINUTE, 7);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    s = opened("otlp", 1000);
    expect_first(s, NULL);
    ck_assert_int_eq(spool_add(s, MINUTE, SPAN("mine")), 0);
    expect_first(s, "mine");
    spool_close(s);
}
END_TEST

/* Triggers may fire after the thread of push/ has ended, until api/ ends. */
START_TEST(keeps_a_message_of_the_end)
{
    static const char TEXT[] = "triggers:\n  - {name: engine, webhook: {url: 'http://h'}}\n";
    struct push_opts o = { .pusher_fd = -1, .store_fd = folder_fd, .node = "n", .host = "h" };
    struct push_config *config = NULL;
    struct push *push = NULL;
    struct push_webhook w;
    struct spool *s;

    ck_assert_int_eq(push_config_parse(SPAN(TEXT), "f", &config, NULL), 0);
    o.config = config;
    ck_assert_int_eq(push_start(&o, &push, NULL), 0);
    push_end(push);
    ck_assert(push_webhook_find(push, "engine", &w));
    ck_assert_int_eq(push_webhook_send(push, &w, clock_realtime_ns(), SPAN("late")), 0);
    push_free(push);
    push_config_free(config);
    s = opened("webhook", 1 << 20);
    expect_first(s, "late");
    spool_close(s);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_spool");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, hands_out_the_oldest_first);
    tcase_add_test(tc, survives_a_restart);
    tcase_add_test(tc, drops_the_oldest_beyond_its_bounds);
    tcase_add_test(tc, removes_what_was_sent_alone);
    tcase_add_test(tc, goes_on_without_a_disk);
    tcase_add_test(tc, waits_for_a_descriptor);
    tcase_add_test(tc, gives_an_unreadable_body_up);
    tcase_add_test(tc, drops_a_body_of_another_size);
    tcase_add_test(tc, takes_its_own_files_alone);
    tcase_add_test(tc, keeps_a_message_of_the_end);
    return suite_run_case("push_spool", tc);
}
