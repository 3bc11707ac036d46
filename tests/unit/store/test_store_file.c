/* SPDX-License-Identifier: Apache-2.0 */
/* store: its file. It survives kills, and may be broken, old, or read-only. */
#include "suite.h"

/* Check notes each passed assertion in a file. A child that is killed while it notes one leaves a
 * half of it, and Check then ends the whole program. */
#undef _mark_point
#define _mark_point(file, line) ((void)0)

#include "store_fixture.h"

#include "store/store_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>

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
        ck_assert_int_ge(pid, 0); /* kill(-1) would end every process */
        if (pid == 0) {           /* writes until it is killed, and reports each finished put */
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
    struct store_query q = { .to_ns = UINT64_MAX, .state = -1, .limit = 7 };
    char problem[256], next[64];
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
    ck_assert_int_eq(store_list(s, &q, NULL, NULL, next, &err), 0);
    q.need_open = true;
    ck_assert_int_eq(store_list(s, &q, NULL, NULL, next, &err), -ENODEV);
    ck_assert_ptr_nonnull(strstr(err.msg, "move the file away"));
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

/* Runs @sql on the file like another program. */
static void sql_on_file(const char *sql)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(db_path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Statements that turn a file into the version before. */
static const char *const BACK[] = {
    "PRAGMA user_version = 5", /* without routes */
    "ALTER TABLE processes DROP COLUMN service; PRAGMA user_version = 4",
    "ALTER TABLE captures DROP COLUMN events; PRAGMA user_version = 3",
    "ALTER TABLE captures DROP COLUMN scope; PRAGMA user_version = 2",
    "DROP TABLE schedules; PRAGMA user_version = 1",
};

START_TEST(an_older_file_is_brought_up_to_date)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct store_runs h = { .runs = 1 };
    struct store *s = open_store(0, 0);
    char problem[256];

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_close(s);
    for (int i = 0; i <= _i; i++)
        sql_on_file(BACK[i]);
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_str_eq(problem, "");
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_put_runs(s, "nightly", &h, NULL), 0);
    store_close(s);
    profile_unref(p);
}
END_TEST

START_TEST(an_older_file_of_others_stays_as_it_is)
{
    struct store *s = open_store(0, 0);
    char problem[256];

    store_close(s);
    for (size_t i = 0; i < ARRAY_SIZE(BACK); i++)
        sql_on_file(BACK[i]);
    if (_i == 0)
        sql_on_file("CREATE TRIGGER t BEFORE UPDATE ON captures BEGIN SELECT 1; END");
    else
        sql_on_file("DROP TABLE processes; PRAGMA user_version = 0");
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_ptr_nonnull(strstr(problem, "not those that flamed makes"));
    store_close(s);
    sql_on_file("CREATE TABLE schedules(x)"); /* it was not created */
}
END_TEST

static int count_one(void *cookie, const struct store_capture *c)
{
    ck_assert_str_eq(c->id, "aa");
    ++*(unsigned *)cookie;
    return 0;
}

START_TEST(a_file_that_another_writes_can_be_read)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct store_query q = { .to_ns = UINT64_MAX, .state = -1, .limit = 7, .need_open = true };
    struct store *s = open_store(0, 0);
    char problem[256], next[64];
    unsigned seen = 0;
    sqlite3 *other;

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_close(s);
    ck_assert_int_eq(sqlite3_open(db_path, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_ptr_nonnull(strstr(problem, "end the other program"));
    ck_assert_int_eq(store_list(s, &q, count_one, &seen, next, NULL), 0);
    ck_assert_uint_eq(seen, 1);
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_lt(store_put(s, p, NULL, 0, NULL), 0);
    sqlite3_close(other);
    s->reopened_ns = 0; /* as if 10 s had passed */
    ck_assert_int_eq(store_put_failed(s, "bb", p, "why", NULL), 0);
    store_close(s);
    profile_unref(p);
}
END_TEST

/* In a read-only folder, with and without a rest of SQLite's log after a kill. Old captures can be
 * read, and a put reports the reason. Exits 0. */
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
    for (int log_left = 1; log_left >= 0; log_left--) { /* first with another process */
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

/* On a disk of its own that is full when the store opens. Old captures can be read, and a put
 * reports the reason. It works once there is room. Exits 0. */
static void full_disk_reader(void)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    char problem[256], path[sizeof(db_path)];
    static const char BLOCK[4096];
    struct store *s;
    int fd;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", dir, "tmpfs", 0, "size=1m") < 0)
        _exit(77);
    s = open_store(0, 0);
    if (store_put(s, p, NULL, 0, NULL) < 0)
        _exit(2);
    store_close(s);
    snprintf(path, sizeof(path), "%s/fill", dir);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    while (write(fd, BLOCK, sizeof(BLOCK)) > 0)
        ;
    close(fd);
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    if (!strstr(problem, "free disk space"))
        _exit(3);
    if (store_get(s, "aa", &got, NULL) != 0)
        _exit(4);
    profile_unref(got);
    if (store_put_failed(s, "bb", p, "why", NULL) >= 0)
        _exit(5);
    unlink(path);
    s->reopened_ns = 0; /* as if 10 s had passed */
    if (store_put_failed(s, "bb", p, "why", NULL) < 0)
        _exit(6);
    store_close(s);
    profile_unref(p);
    _exit(0);
}

START_TEST(a_full_disk_can_be_read)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        full_disk_reader();
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) != 77) /* no privilege to mount */
        ck_assert_int_eq(WEXITSTATUS(status), 0);
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
    unlink(db_path); /* as the message advises */
    snprintf(path, sizeof(path), "%s-wal", db_path);
    unlink(path);
    snprintf(path, sizeof(path), "%s-shm", db_path);
    unlink(path);
    s->reopened_ns = 0; /* as if 10 s had passed */
    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_str_eq(problem, "");
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    profile_unref(got);
    store_close(s);
    profile_unref(p);
}
END_TEST

static unsigned count_descriptors(void)
{
    DIR *fds = opendir("/proc/self/fd");
    unsigned n = 0;

    ck_assert_ptr_nonnull(fds);
    while (readdir(fds))
        n++;
    closedir(fds);
    return n;
}

/* The history's readers keep a statement while they let others use the store. */
START_TEST(a_file_that_is_opened_again_under_a_reader_is_closed)
{
    unsigned before = count_descriptors();
    struct store *s = open_store(0, 0);

    for (int i = 0; i < 3; i++) {
        sqlite3_stmt *stmt = NULL;

        ck_assert_int_eq(store_prepare(s, "SELECT count(*) FROM captures", &stmt, NULL), 0);
        s->writable = false;
        s->reopened_ns = 0; /* as if 10 s had passed */
        ck_assert_int_eq(store_writable(s, NULL), 0);
        ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
        sqlite3_finalize(stmt);
    }
    store_close(s);
    ck_assert_uint_eq(count_descriptors(), before);
}
END_TEST

static int fail_to_list(void *cookie, const struct store_capture *c)
{
    (void)cookie;
    ck_abort_msg("capture %s has %zu processes", c->id, c->process_count);
    return 0;
}

/* The processes of a capture cannot be read. It is not shown without them. */
START_TEST(an_error_is_no_short_answer)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work");
    struct store_query q = { .to_ns = UINT64_MAX, .state = -1, .limit = 7 };
    struct error err = ERROR_NULL;
    struct store *s = open_store(0, 0);
    char next[64];

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    ck_assert_int_eq(sqlite3_exec(s->db,
                                  "CREATE TEMP VIEW processes AS SELECT capture, pid, name,"
                                  " container, pod, namespace, service,"
                                  " abs(-9223372036854775807 - 1) AS samples FROM main.processes",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_lt(store_get_facts(s, "aa", fail_to_list, NULL, &err), 0);
    ck_assert_str_ne(err.msg, "");
    ck_assert_int_lt(store_list(s, &q, fail_to_list, NULL, next, NULL), 0);
    store_close(s);
    profile_unref(p);
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

/* A compromised worker may leave this in the file: each query never ends. */
#define WITHOUT_END "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
static const char *const LEFT[] = {
    "ALTER TABLE captures RENAME TO other;"
    "CREATE VIEW captures AS " WITHOUT_END "SELECT other.* FROM c, other WHERE x < 0",
    "ALTER TABLE processes RENAME TO other;"
    "CREATE VIEW processes AS " WITHOUT_END "SELECT other.* FROM c, other WHERE x < 0",
    "CREATE VIEW v AS " WITHOUT_END "SELECT x FROM c;"
    "CREATE TRIGGER t BEFORE UPDATE ON captures BEGIN SELECT count(*) FROM v; END",
    "CREATE INDEX i ON captures(length(hex(zeroblob(100000000)))) WHERE n > 1",
    "ALTER TABLE captures ADD COLUMN g AS (length(hex(zeroblob(100000000))))",
    "ALTER TABLE captures RENAME TO other; PRAGMA user_version = 99;"
    "CREATE VIEW captures AS " WITHOUT_END "SELECT other.* FROM c, other WHERE x < 0",
};

START_TEST(nothing_runs_that_the_file_says)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct store *s = open_store(0, 0);
    char problem[256];

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_close(s);
    sql_on_file(LEFT[_i]);
    s = open_store(0, 0);
    store_problem(s, problem, sizeof(problem));
    ck_assert_str_ne(problem, "");
    ck_assert_int_lt(store_get(s, "aa", &got, NULL), 0);
    ck_assert_int_lt(store_put(s, p, NULL, 0, NULL), 0);
    store_close(s);
    profile_unref(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("store_file");

    tcase_add_test(tc, survives_kill_9_at_any_moment);
    tcase_add_test(tc, says_what_is_wrong_with_a_file);
    tcase_add_loop_test(tc, an_older_file_is_brought_up_to_date, 0, ARRAY_SIZE(BACK));
    tcase_add_loop_test(tc, an_older_file_of_others_stays_as_it_is, 0, 2);
    tcase_add_test(tc, a_file_that_another_writes_can_be_read);
    tcase_add_test(tc, a_read_only_folder_can_be_read);
    tcase_add_test(tc, a_full_disk_can_be_read);
    tcase_add_test(tc, what_was_mended_is_noticed);
    tcase_add_test(tc, a_file_that_is_opened_again_under_a_reader_is_closed);
    tcase_add_test(tc, an_error_is_no_short_answer);
    tcase_add_test(tc, a_damaged_blob_is_an_error);
    tcase_add_loop_test(tc, nothing_runs_that_the_file_says, 0, ARRAY_SIZE(LEFT));
    return run_store_tests("store_file", tc);
}
