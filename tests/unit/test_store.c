/* SPDX-License-Identifier: Apache-2.0 */
/* store/: captures survive, share their names, go in time; broken files do no harm; the flight
 * recorder. */
#include "base/buf.h"
#include "base/clock.h"
#include "profile/view.h"
#include "store/flight.h"
#include "store/store_impl.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[] = "/tmp/flamed-test-store-XXXXXX";
static char db_path[256];

static void setup(void)
{
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(db_path, sizeof(db_path), "%s/flamed.db", dir);
}

static void teardown(void)
{
    static const char *const FILES[] = { "flamed.db", "flamed.db-wal", "flamed.db-shm" };
    char path[256];

    chmod(dir, 0700);
    for (size_t i = 0; i < ARRAY_SIZE(FILES); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, FILES[i]);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}

static struct store *open_store(uint64_t max_bytes, uint64_t max_age_s)
{
    struct store_opts o = {
        .dir = dir, .dir_fd = -1, .max_bytes = max_bytes, .max_age_s = max_age_s
    };
    struct store *s = NULL;

    ck_assert_int_eq(store_open(&o, &s, NULL), 0);
    return s;
}

static uint32_t str(struct frame_table *t, const char *text)
{
    uint32_t id;

    ck_assert_int_eq(frame_table_string(t, span_of(text), &id), 0);
    return id;
}

static uint32_t frame_of(struct frame_table *t, const char *class_name, const char *name,
                         uint32_t line)
{
    struct module m = { .path = str(t, "/lib/libx.so"), .build_id = str(t, "abcd") };
    struct function fn = { .class_name = str(t, class_name),
                           .name = str(t, name),
                           .signature = str(t, "(int)"),
                           .file = str(t, "A.java") };
    struct frame f = { .line = line, .kind = FRAME_C2 };
    uint32_t id;

    ck_assert_int_eq(frame_table_module(t, &m, &fn.module), 0);
    ck_assert_int_eq(frame_table_function(t, &fn, &f.function), 0);
    ck_assert_int_eq(frame_table_frame(t, &f, &id), 0);
    return id;
}

/* A capture of @samples samples over two stacks, begun at @start_ns. */
static struct profile *make_profile(const char *id, uint64_t start_ns, unsigned samples,
                                    const char *leaf)
{
    struct profile meta = { .event = "cpu",
                            .unit = "nanoseconds",
                            .period = 1000,
                            .start_ns = 500,
                            .start_realtime_ns = start_ns,
                            .end_ns = 500 + NSEC_PER_SEC,
                            .target = "pid 42 (Main)",
                            .symbols = "memory: why",
                            .lost = 3 };
    struct profile_process process = { .host_pid = 42, .start_ticks = 7 };
    struct profile_thread thread = { .host_tid = 43 };
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p = NULL;
    uint32_t run, work, tid;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    ck_assert_int_eq(record_new(t, 1000000, &r), 0);
    run = frame_of(t, "java.lang.Thread", "run", 840);
    work = frame_of(t, "a.b.Main", leaf, 12);
    process.name = str(t, "Main");
    process.container = str(t, "0123456789abcdef");
    process.pod = str(t, "web-1");
    ck_assert_int_eq(record_process(r, &process, &thread.process), 0);
    thread.name = str(t, "main \xf0\x9f\x98\x80");
    ck_assert_int_eq(record_thread(r, &thread, &tid), 0);
    for (unsigned i = 0; i < samples; i++) {
        uint32_t stack[2] = { work, run };
        bool deep = i % 3;

        ck_assert_int_eq(record_sample(r, 500 + i * 10, tid, deep ? stack : &run, deep ? 2 : 1,
                                       1 + i % 2, i % 2,
                                       (uint16_t)(i % 5 ? 0x50 : PROFILE_SAMPLE_TRUNCATED | 0x500)),
                         0);
    }
    record_warn(r, "a warning with \"quotes\"");
    snprintf(meta.id, sizeof(meta.id), "%s", id);
    ck_assert_int_eq(record_finish(r, &meta, &p), 0);
    record_free(r);
    frame_table_free(t);
    return p;
}

/* Everything that a reader sees of @p, as text. */
static char *text_of(struct profile *p, struct buf *out)
{
    struct view_opts o = {
        .threads = true, .lines = true, .names = VIEW_NAMES_SIGNATURE, .annotate = true
    };
    struct view *v = NULL;

    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    for (size_t i = 0; i < v->row_count; i++) {
        for (uint32_t k = 0; k < v->rows[i].n; k++) {
            const struct view_frame *f = &v->frames[v->stack[v->rows[i].first + k]];

            buf_printf(out, "%s|%s|%s;", view_string(v, f->name).p, view_string(v, f->module).p,
                       view_string(v, f->file).p);
        }
        buf_printf(out, " %llu\n", (unsigned long long)v->rows[i].samples);
    }
    view_free(v);
    buf_printf(out, "%s %s %llu %llu %llu %llu %llu\n", p->target, p->symbols,
               (unsigned long long)p->period, (unsigned long long)p->total,
               (unsigned long long)p->truncated, (unsigned long long)p->truncated_by[5],
               (unsigned long long)p->lost);
    for (size_t i = 0; i < p->sample_count; i++)
        buf_printf(out, "%llu %x %d,", (unsigned long long)(p->samples[i].time_ns - p->start_ns),
                   p->samples[i].flags, p->samples[i].mode);
    return out->p;
}

START_TEST(gives_back_what_it_was_given)
{
    _cleanup_buf_ struct buf before = BUF_NULL, after = BUF_NULL;
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 5000, "work"), *got = NULL;
    struct store *s = open_store(0, 0);

    buf_init(&before, 10 << 20);
    buf_init(&after, 10 << 20);
    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_get(s, "bb", &got, NULL), STORE_NOT_FOUND);
    store_close(s);
    s = open_store(0, 0); /* from the file, not from memory */
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    ck_assert_str_eq(text_of(p, &before), text_of(got, &after));
    ck_assert_uint_eq(got->start_ns, 1000 * NSEC_PER_SEC);
    profile_unref(got);
    profile_unref(p);
    store_close(s);
}
END_TEST

static int count_captures(void *cookie, const struct store_capture *c)
{
    ck_assert_uint_eq(c->warning_count, 1);
    ck_assert_uint_eq(c->process_count, 1);
    ck_assert_str_eq(c->processes[0].pod, "web-1");
    ++*(unsigned *)cookie;
    return 0;
}

START_TEST(lists_page_by_page_and_filters)
{
    struct store *s = open_store(0, 0);
    struct store_query q = { .to_ns = UINT64_MAX, .state = -1, .limit = 7 };
    char next[64] = "", cursor[64], id[STORE_ID_BYTES];
    unsigned seen = 0, pages = 0;

    for (unsigned i = 0; i < 40; i++) {
        struct profile *p;

        snprintf(id, sizeof(id), "id%u", i);
        p = make_profile(id, (1000 + i / 2) * NSEC_PER_SEC, 10, "work");
        ck_assert_int_eq(store_put(s, p, i % 2 ? "nightly" : NULL, 0, NULL), 0);
        profile_unref(p);
    }
    do {
        snprintf(cursor, sizeof(cursor), "%s", next);
        q.cursor = cursor[0] ? cursor : NULL;
        ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), 0);
        pages++;
    } while (next[0]);
    ck_assert_uint_eq(seen, 40);
    ck_assert_uint_eq(pages, 6);
    q = (struct store_query){ .from_ns = 1005 * NSEC_PER_SEC,
                              .to_ns = 1006 * NSEC_PER_SEC,
                              .state = STORE_DONE,
                              .schedule = "nightly",
                              .host_pid = 42,
                              .container = "012345",
                              .limit = 100 };
    seen = 0;
    ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), 0);
    ck_assert_uint_eq(seen, 2); /* of 1004 (ends at 1005) and of 1005 */
    q.container = "9999999";
    seen = 0;
    ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), 0);
    ck_assert_uint_eq(seen, 0);
    q.cursor = "garbage";
    ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), -EINVAL);
    store_close(s);
}
END_TEST

START_TEST(shares_names_and_keeps_to_its_size)
{
    struct store *s = open_store(200 << 10, 0);
    struct store_stats stats;
    char id[STORE_ID_BYTES], leaf[64];

    for (unsigned i = 0; i < 1000; i++) {
        struct profile *p;

        snprintf(id, sizeof(id), "id%u", i);
        snprintf(leaf, sizeof(leaf), "work%u", i % 3);
        p = make_profile(id, (1000 + i) * NSEC_PER_SEC, 300, leaf);
        ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
        profile_unref(p);
        ck_assert_int_eq(store_retain(s, (1000 + i) * NSEC_PER_SEC, NULL), 0);
    }
    store_stats(s, &stats);
    ck_assert_uint_eq(stats.puts, 1000);
    ck_assert_uint_gt(stats.dropped_by_size, 0);
    ck_assert_uint_gt(stats.captures, 100); /* under 2 KB each: names are there once */
    ck_assert_uint_le(stats.bytes, 400 << 10);
    store_close(s);
}
END_TEST

START_TEST(drops_by_age_and_with_it_the_names)
{
    struct store *s = open_store(0, 3600);
    uint64_t day = 86400 * NSEC_PER_SEC;
    struct profile *old = make_profile("old", 10 * day, 10, "work"),
                   *kept = make_profile("kept", 10 * day, 10, "work"),
                   *fresh = make_profile("fresh", 12 * day, 10, "other"), *got = NULL;

    ck_assert_int_eq(store_put(s, old, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_put(s, kept, "weekly", 7 * 86400, NULL), 0);
    ck_assert_int_eq(store_put(s, fresh, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_retain(s, 12 * day + 60 * NSEC_PER_SEC, NULL), 0);
    ck_assert_int_eq(store_get(s, "old", &got, NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_get(s, "kept", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_get(s, "fresh", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_delete(s, "kept", NULL), 0);
    ck_assert_int_eq(store_delete(s, "kept", NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_get(s, "fresh", &got, NULL), 0);
    profile_unref(got);
    profile_unref(old);
    profile_unref(kept);
    profile_unref(fresh);
    store_close(s);
}
END_TEST

static int take_failure(void *cookie, const struct store_capture *c)
{
    ck_assert_int_eq(c->state, STORE_FAILED);
    ck_assert_str_eq(c->failure, "flamed ended while it ran");
    *(bool *)cookie = true;
    return 0;
}

START_TEST(survives_kill_9_at_any_moment)
{
    for (unsigned round = 0; round < 10; round++) {
        int done[2];
        char id[STORE_ID_BYTES], last[STORE_ID_BYTES] = "";
        struct profile *got = NULL;
        struct store *s;
        bool failed = false;
        pid_t pid;

        ck_assert_int_eq(pipe(done), 0);
        pid = fork();
        if (pid == 0) { /* writes until it is killed, and says what is done */
            s = open_store(0, 0);
            for (unsigned i = 0;; i++) {
                struct profile *p;

                snprintf(id, sizeof(id), "r%ui%u", round, i);
                p = make_profile(id, 1000 * NSEC_PER_SEC, 200, id);
                if (i == 0)
                    store_put_running(s, "running", p, NULL, NULL);
                if (store_put(s, p, NULL, 0, NULL) < 0 ||
                    write(done[1], id, sizeof(id)) != sizeof(id))
                    _exit(1);
                profile_unref(p);
            }
        }
        close(done[1]);
        usleep(30000 + round * 7000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        s = open_store(0, 0);
        while (read(done[0], id, sizeof(id)) == sizeof(id)) {
            ck_assert_int_eq(store_get(s, id, &got, NULL), 0);
            ck_assert_uint_eq(got->total, 300);
            profile_unref(got);
            memcpy(last, id, sizeof(last));
        }
        if (last[0]) {
            ck_assert_int_eq(store_get_facts(s, "running", take_failure, &failed, NULL), 0);
            ck_assert(failed);
        }
        close(done[0]);
        store_close(s);
    }
}
END_TEST

START_TEST(says_what_is_wrong_with_a_file)
{
    char problem[256];
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work");
    struct error err = ERROR_NULL;
    struct store *s;
    sqlite3 *db;
    FILE *f = fopen(db_path, "w");

    for (unsigned i = 0; i < 5000; i++)
        fprintf(f, "garbage %u ", i);
    fclose(f);
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_ptr_nonnull(strstr(problem, "move the file away"));
    ck_assert_int_lt(store_put(s, p, NULL, 0, &err), 0);
    ck_assert_str_ne(err.msg, "");
    store_close(s);

    unlink(db_path);
    ck_assert_int_eq(sqlite3_open(db_path, &db), SQLITE_OK);
    sqlite3_exec(db, "CREATE TABLE t(x); PRAGMA user_version = 99", NULL, NULL, NULL);
    sqlite3_close(db);
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_ptr_nonnull(strstr(problem, "newer flamed"));
    ck_assert_int_lt(store_put(s, p, NULL, 0, &err), 0);
    store_close(s);
    profile_unref(p);
}
END_TEST

/* Runs @sql on the file as another program would. */
static void sql_on_file(const char *sql)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(db_path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

START_TEST(history_outlives_a_restart)
{
    struct store_history h = { .last_ns = 5,
                               .last_error_ns = 6,
                               .runs = 7,
                               .missed = 8,
                               .unmatched = 9,
                               .last_id = "aa",
                               .last_error = "why" },
                         got = { 0 };
    struct store *s = open_store(0, 0);

    ck_assert_int_eq(store_get_history(s, "nightly", &got, NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_put_history(s, "nightly", &h, NULL), 0);
    h.runs++;
    ck_assert_int_eq(store_put_history(s, "nightly", &h, NULL), 0);
    store_close(s);
    s = open_store(0, 0);
    ck_assert_int_eq(store_get_history(s, "nightly", &got, NULL), 0);
    ck_assert_mem_eq(&got, &h, sizeof(h));
    store_close(s);
}
END_TEST

START_TEST(an_older_file_is_brought_up_to_date)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct store_history h = { .runs = 1 };
    struct store *s = open_store(0, 0);
    char problem[256];

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_close(s);
    sql_on_file("DROP TABLE schedules; PRAGMA user_version = 1"); /* as version 1 left it */
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_str_eq(problem, "");
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_put_history(s, "nightly", &h, NULL), 0);
    store_close(s);
    profile_unref(p);
}
END_TEST

/* In a folder that may only be read, with and without what a kill left of SQLite's log: old
 * captures are there, a put says what is wrong. Exits 0. */
static void read_only_reader(bool log_left)
{
    struct profile *p = make_profile("bb", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct error err = ERROR_NULL;
    char problem[256];
    struct store *s;

    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
        _exit(77);
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    if (!strstr(problem, "writable"))
        _exit(2);
    if (store_get(s, "aa", &got, NULL) != 0 && !log_left)
        _exit(3);
    profile_unref(got);
    if (store_put(s, p, NULL, 0, &err) >= 0 || !strstr(err.msg, "nothing can be stored"))
        _exit(4);
    store_close(s);
    profile_unref(p);
    _exit(0);
}

START_TEST(a_read_only_folder_can_be_read)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work");
    int status = 0;
    struct store *s;

    if (geteuid() != 0)
        return;
    s = open_store(0, 0);
    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    profile_unref(p);
    chmod(dir, 0555);
    for (int log_left = 1; log_left >= 0; log_left--) { /* first while another has it open */
        pid_t pid = fork();

        if (pid == 0)
            read_only_reader(log_left);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
        if (log_left) {
            chmod(dir, 0755);
            store_close(s);
            chmod(dir, 0555);
        }
    }
}
END_TEST

START_TEST(what_was_mended_is_noticed)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct store *s = open_store(0, 0);
    char problem[256], path[sizeof(db_path) + 4];

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    sql_on_file("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA writable_schema = ON;"
                "UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 'captures';"
                "PRAGMA schema_version = 1000");
    ck_assert_int_lt(store_put(s, p, NULL, 0, NULL), 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_ptr_nonnull(strstr(problem, "move the file"));
    unlink(db_path); /* as it advises */
    snprintf(path, sizeof(path), "%s-wal", db_path);
    unlink(path);
    snprintf(path, sizeof(path), "%s-shm", db_path);
    unlink(path);
    s->reopened_ns = 0; /* in place of 10 s */
    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_str_eq(problem, "");
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    profile_unref(got);
    store_close(s);
    profile_unref(p);
}
END_TEST

START_TEST(nothing_is_old_while_the_clock_is_doubted)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct store *s = open_store(0, 3600);

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_retain(s, 0, NULL), 0);
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    profile_unref(got);
    profile_unref(p);
    store_close(s);
}
END_TEST

START_TEST(a_damaged_blob_is_an_error)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 100, "work"), *got = NULL;
    struct error err = ERROR_NULL;
    struct store *s = open_store(0, 0);

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_close(s);
    sql_on_file("UPDATE captures SET body = substr(body, 1, 20)");
    s = open_store(0, 0);
    ck_assert_int_eq(store_get(s, "aa", &got, &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.msg, "damaged"));
    store_close(s);
    profile_unref(p);
}
END_TEST

START_TEST(the_recorder_forgets_the_oldest)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    struct profile_slice all = { .to_ns = UINT64_MAX };
    struct profile meta = { .event = "cpu",
                            .period = 1000,
                            .start_realtime_ns = 5000 * NSEC_PER_SEC };
    struct frame_table *t = NULL;
    struct flight *f = NULL;
    struct flight_stats stats;
    struct profile *p = NULL, **parts;
    size_t count;
    uint32_t leaf;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    leaf = frame_of(t, "a.B", "c", 1);
    process.name = str(t, "Main");
    ck_assert_int_eq(flight_new(t, 1000, 60 * NSEC_PER_SEC, 1 << 20, &f), 0);
    for (uint64_t i = 0; i < 20000; i++) /* 200 s at 100 Hz */
        ck_assert_int_eq(
            flight_sample(f, i * 10 * NSEC_PER_MSEC, &process, &thread, &leaf, 1, 1, 0, 0), 0);
    flight_stats(f, &stats);
    ck_assert_uint_le(stats.bytes, 1 << 20);
    ck_assert_uint_ge(stats.oldest_ns, 120 * NSEC_PER_SEC);
    ck_assert_uint_le(stats.oldest_ns, 141 * NSEC_PER_SEC);
    all.from_ns = 190 * NSEC_PER_SEC;
    meta.start_ns = 0;
    ck_assert_int_eq(flight_parts(f, all.from_ns, all.to_ns, &parts, &count), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(flight_merge(parts, count, &all, &meta, &p), 0);
    flight_parts_free(parts, count);
    ck_assert_uint_eq(p->total, 1000);
    ck_assert_uint_eq(p->samples[0].time_ns, (5000 + 190) * NSEC_PER_SEC);
    profile_unref(p);
    flight_free(f);
    frame_table_free(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tc = tcase_create("store");
    SRunner *sr;
    int failed;

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, gives_back_what_it_was_given);
    tcase_add_test(tc, lists_page_by_page_and_filters);
    tcase_add_test(tc, shares_names_and_keeps_to_its_size);
    tcase_add_test(tc, drops_by_age_and_with_it_the_names);
    tcase_add_test(tc, survives_kill_9_at_any_moment);
    tcase_add_test(tc, says_what_is_wrong_with_a_file);
    tcase_add_test(tc, history_outlives_a_restart);
    tcase_add_test(tc, an_older_file_is_brought_up_to_date);
    tcase_add_test(tc, a_read_only_folder_can_be_read);
    tcase_add_test(tc, what_was_mended_is_noticed);
    tcase_add_test(tc, nothing_is_old_while_the_clock_is_doubted);
    tcase_add_test(tc, a_damaged_blob_is_an_error);
    tcase_add_test(tc, the_recorder_forgets_the_oldest);
    suite_add_tcase(suite, tc);
    sr = srunner_create(suite);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
