/* SPDX-License-Identifier: Apache-2.0 */
/* The history over restarts of flamed. A flamed counts only the execs that it saw, so a process
 * that runs on has another exec number in the next one. */
#include "history_fixture.h"

#include "store/folder.h"
#include "store/history_impl.h"

static const struct history_query ALL = { .to_ns = UINT64_MAX };

/* Puts an image in minute number @minute. */
static void put(struct history *h, unsigned minute, int32_t pid, uint32_t exec_no, const char *name,
                const char *version)
{
    struct history_image image = made_image(pid, "shop");

    image.name = name;
    image.exec_no = exec_no;
    image.version = version;
    image.java = "17";
    image.started_ns = T0 + (uint64_t)pid;
    put_images(h, T0 + minute * HISTORY_MINUTE_NS, NULL, &image, 1);
}

struct seen_images {
    struct {
        int32_t pid;
        uint32_t exec_no;
        uint64_t first_ns, last_ns;
        char name[8];
    } of[8];
    size_t count;
};

static void see_image(void *cookie, const struct history_image *image)
{
    struct seen_images *seen = cookie;

    ck_assert_uint_lt(seen->count, ARRAY_SIZE(seen->of));
    seen->of[seen->count].pid = image->host_pid;
    seen->of[seen->count].exec_no = image->exec_no;
    seen->of[seen->count].first_ns = image->first_ns;
    seen->of[seen->count].last_ns = image->last_ns;
    snprintf(seen->of[seen->count++].name, sizeof(seen->of->name), "%s", image->name);
}

/* The wall clock was slowed down a little: a minute began in the one before. It is the minute of
 * its middle, and the answer begins with it. */
START_TEST(test_a_minute_that_began_early)
{
    static const struct made_jvm JVM = { 42, 1000, "shop", "work", 40, NULL };
    struct history *h = open_history(1 << 30, 86400);
    const uint64_t early_ns = 20 * NSEC_PER_MSEC;
    struct history_reach reach;
    struct read_sums sums = { 0 };

    ck_assert_int_eq(put_minute(h, T0 - HISTORY_MINUTE_NS, &JVM, 1), 0);
    ck_assert_int_eq(put_minute(h, T0 - early_ns, &JVM, 1), 0);
    ck_assert_int_eq(put_minute(h, T0 + HISTORY_MINUTE_NS - early_ns, &JVM, 1), 0);
    reach = read_range(h, T0, T0 + 2 * HISTORY_MINUTE_NS, 0, &sums);
    ck_assert_uint_eq(reach.parts, 2);
    ck_assert_uint_eq(reach.from_ns, T0);
    ck_assert_uint_eq(sums.first, T0);
    history_close(h);
}
END_TEST

/* Gets the images, the row added last first. */
static struct seen_images images_of(struct history *h)
{
    struct seen_images seen = { 0 };

    ck_assert_int_eq(history_images(h, &ALL, see_image, &seen, NULL), 0);
    return seen;
}

static void count_mark(void *cookie, const struct history_mark *m)
{
    (void)m;
    ++*(int *)cookie;
}

static int marks_of(struct history *h)
{
    uint64_t left_out;
    int count = 0;

    ck_assert_int_eq(history_marks(h, &ALL, count_mark, &count, &left_out, NULL), 0);
    return count;
}

static struct history *restarted(struct history *h)
{
    history_close(h);
    return open_history(1 << 30, 86400);
}

/* It stays one image, and is no release of its service though another version started since. */
START_TEST(test_a_jvm_that_runs_on_is_one_image)
{
    struct history *h = open_history(1 << 30, 86400);
    struct seen_images seen;

    put(h, 0, 1, 2, "Main", "1.0");
    put(h, 0, 2, 2, "Main", "2.0");
    ck_assert_int_eq(marks_of(h), 1);
    for (unsigned minute = 1; minute < 3; minute++) {
        h = restarted(h);
        put(h, minute, 1, 0, "Main", "1.0");
        put(h, minute, 2, 0, "Main", "2.0");
    }
    ck_assert_int_eq(marks_of(h), 1);
    seen = images_of(h);
    ck_assert_uint_eq(seen.count, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(seen.of[i].exec_no, 0);
        ck_assert_uint_eq(seen.of[i].first_ns, T0);
        ck_assert_uint_eq(seen.of[i].last_ns, T0 + 3 * HISTORY_MINUTE_NS);
    }
    history_close(h);
}
END_TEST

/* Two programs of a process stay two, also one that took the number of the other. */
START_TEST(test_another_program_is_another_image)
{
    struct history *h = open_history(1 << 30, 86400);
    struct seen_images seen;

    put(h, 0, 1, 0, "Old", "1.0");
    put(h, 1, 1, 1, "Main", "1.0");
    put(h, 1, 2, 1, "Main", "1.0");
    put(h, 2, 2, 2, "Main", "1.0"); /* this flamed saw the exec */
    h = restarted(h);
    put(h, 3, 1, 0, "Main", "1.0");
    put(h, 4, 1, 1, "Next", "1.0");
    seen = images_of(h);
    ck_assert_uint_eq(seen.count, 5);
    ck_assert_str_eq(seen.of[0].name, "Next");
    ck_assert_str_eq(seen.of[3].name, "Main");
    ck_assert_uint_eq(seen.of[3].last_ns, T0 + 4 * HISTORY_MINUTE_NS);
    ck_assert_str_eq(seen.of[4].name, "Old");
    ck_assert_uint_eq(seen.of[4].last_ns, T0 + HISTORY_MINUTE_NS);
    history_close(h);
}
END_TEST

/* Rows that are dropped lower no number: by it a flamed knows its own rows. */
START_TEST(test_dropped_rows_do_not_split_a_new_jvm)
{
    struct history *h = open_history(1 << 30, 86400);
    struct seen_images seen;

    for (int pid = 1; pid <= 3; pid++)
        put(h, 0, pid, 2, "Old", "1.0");
    h = restarted(h);
    ck_assert_int_eq(history_roll(h, T0 + 2 * DAY_NS, NULL), 0);
    ck_assert_uint_eq(images_of(h).count, 0);
    for (unsigned minute = 0; minute < 3; minute++) {
        put(h, 3000 + minute, 5, 1, "Main", "1.0");
        put(h, 3000 + minute, 6, 1, "Main", "2.0");
    }
    seen = images_of(h);
    ck_assert_uint_eq(seen.count, 2);
    ck_assert_uint_eq(seen.of[0].exec_no, 1);
    ck_assert_uint_eq(seen.of[1].exec_no, 1);
    ck_assert_int_eq(marks_of(h), 1);
    history_close(h);
}
END_TEST

/* The first sample of a JVM may know less of it than the minute's list of JVMs: it makes no row. */
START_TEST(test_poor_samples_do_not_split_a_jvm)
{
    const struct made_jvm poor = { 1, 1000, "java", "work", 20, NULL };
    struct history *h = open_history(1 << 30, 86400);
    struct history_image image = made_image(1, "shop");
    struct seen_images seen;

    put(h, 0, 1, 2, "Main", "1.0");
    put(h, 0, 2, 2, "Main", "2.0");
    h = restarted(h);
    made_exec_no = 0;
    image.java = "17";
    image.version = "1.0";
    put_images(h, T0 + HISTORY_MINUTE_NS, make_slice(T0 + HISTORY_MINUTE_NS, &poor, 1), &image, 1);
    seen = images_of(h);
    ck_assert_uint_eq(seen.count, 2);
    ck_assert_int_eq(marks_of(h), 1);
    history_close(h);
}
END_TEST

static uint32_t exec_now; /* of the flamed that runs */

static int see_processes(void *cookie, struct profile *p)
{
    *(uint32_t *)cookie += p->process_count;
    ck_assert_uint_eq(p->processes[0].exec_no, exec_now);
    ck_assert_str_eq(intern_get(p->strings, p->processes[0].version).p, "1.0");
    return 0;
}

/* Its samples of both flameds are of one process, also in a longer part. */
START_TEST(test_samples_are_of_one_process)
{
    struct history *h = open_history(1 << 30, 86400);
    const struct made_jvm jvm = { 1, 1000, "shop", "work", 20, NULL };
    struct history_query q = { .from_ns = T0, .to_ns = T0 + 10 * HISTORY_MINUTE_NS };
    struct history_reach reach;
    uint32_t processes = 0;

    put(h, 0, 1, 2, "Main", "1.0");
    made_exec_no = exec_now = 2;
    ck_assert_int_eq(put_minute(h, T0, &jvm, 1), 0);
    ck_assert_int_eq(history_read(h, &q, see_processes, &processes, &reach, NULL), 0);
    h = restarted(h);
    made_exec_no = exec_now = processes = 0;
    ck_assert_int_eq(put_minute(h, T0 + HISTORY_MINUTE_NS, &jvm, 1), 0);
    put(h, 10, 1, 0, "Main", "1.0");
    if (_i)
        ck_assert_int_eq(history_roll(h, T0 + 20 * HISTORY_MINUTE_NS, NULL), 0);
    else
        q.coarsest_ns = HISTORY_MINUTE_NS;
    ck_assert_int_eq(history_read(h, &q, see_processes, &processes, &reach, NULL), 0);
    ck_assert_uint_eq(processes, 1);
    ck_assert_uint_eq(reach.parts, _i ? 1 : 2);
    history_close(h);
}
END_TEST

static int stop(void *cookie)
{
    (void)cookie;
    return 1;
}

/* The file is opened again while a reader is in its callback, and its old connection then fails. */
static int open_again(void *cookie, struct profile *p)
{
    struct store *s = ((struct history *)cookie)->store;

    (void)p;
    sqlite3_progress_handler(s->db, 1, stop, NULL);
    store_enter_patiently(s);
    s->writable = false;
    s->reopened_ns = 0; /* as if 10 s had passed */
    ck_assert_int_eq(store_writable(s, NULL), 0);
    store_leave(s);
    return 0;
}

/* The sentence is that of the error, and no problem of the new connection. */
START_TEST(test_a_reader_of_an_old_connection_fails)
{
    static const struct made_jvm shop = { 42, 1000, "shop", "work", 40, NULL };
    struct history_query q = { .from_ns = T0, .to_ns = T0 + 4 * DAY_NS };
    struct history *h = open_history(1 << 30, 8 * 86400);
    struct history_reach reach;
    struct error err = ERROR_NULL;
    char problem[256];

    for (int day = 0; day < 3; day += 2) /* each with a dictionary, and so a callback, of its own */
        ck_assert_int_eq(put_minute(h, T0 + day * DAY_NS, &shop, 1), 0);
    ck_assert_int_lt(history_read(h, &q, open_again, h, &reach, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.msg, "interrupted"));
    history_problem(h, problem, sizeof(problem));
    ck_assert_str_eq(problem, "");
    history_close(h);
}
END_TEST

/* The file cannot be opened at first. Its rows keep their numbers, and belong to an earlier flamed:
 * the exec number of a row then says nothing about a process that this flamed sees. */
START_TEST(test_a_file_that_is_opened_late)
{
    char path[256], away[264];
    struct seen_images seen = { 0 };
    struct history *h = open_history(1 << 30, 86400);

    for (int pid = 1; pid <= 3; pid++)
        put(h, 0, pid, 1, "Main", "1");
    history_close(h);
    snprintf(path, sizeof(path), "%s/" STORE_FILE_HISTORY, dir);
    snprintf(away, sizeof(away), "%s.away", path);
    ck_assert_int_eq(rename(path, away), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0); /* SQLite cannot open a folder */
    h = open_history(1 << 30, 86400);
    ck_assert(!h->store->writable);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rename(away, path), 0);
    h->store->reopened_ns = 0; /* as if 10 s had passed */
    put(h, 1, 4, 1, "Main", "1");
    put(h, 1, 3, 1, "Other", "1");
    ck_assert_int_eq(history_images(h, &ALL, see_image, &seen, NULL), 0);
    ck_assert_uint_eq(seen.count, 5);
    history_close(h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_restarts");

    tcase_add_test(tc, test_a_minute_that_began_early);
    tcase_add_test(tc, test_a_jvm_that_runs_on_is_one_image);
    tcase_add_test(tc, test_another_program_is_another_image);
    tcase_add_test(tc, test_dropped_rows_do_not_split_a_new_jvm);
    tcase_add_test(tc, test_poor_samples_do_not_split_a_jvm);
    tcase_add_loop_test(tc, test_samples_are_of_one_process, 0, 2);
    tcase_add_test(tc, test_a_file_that_is_opened_late);
    tcase_add_test(tc, test_a_reader_of_an_old_connection_fails);
    return run_store_tests("history_restarts", tc);
}
