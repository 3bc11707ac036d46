/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in a folder of its own, and captures for it. For test_store*.c and test_flight.c.
 */
#pragma once

#include "suite.h"

#include "base/clock.h"
#include "profile/profile.h"
#include "store/store.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/flamed-test-store-XXXXXX";
static char db_path[256];

static inline void setup(void)
{
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(db_path, sizeof(db_path), "%s/flamed.db", dir);
}

static inline void teardown(void)
{
    static const char *const FILES[] = {
        "flamed.db",         "flamed.db-wal",         "flamed.db-shm",
        "flamed-history.db", "flamed-history.db-wal", "flamed-history.db-shm"
    };
    char path[256];

    chmod(dir, 0700);
    for (size_t i = 0; i < ARRAY_SIZE(FILES); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, FILES[i]);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}

static inline struct store *open_store(uint64_t max_bytes, uint64_t max_age_s)
{
    struct store_opts o = {
        .dir = dir, .dir_fd = -1, .max_bytes = max_bytes, .max_age_s = max_age_s
    };
    struct store *s = NULL;

    ck_assert_int_eq(store_open(&o, &s, NULL), 0);
    return s;
}

static inline uint32_t str(struct frame_table *t, const char *text)
{
    uint32_t id;

    ck_assert_int_eq(frame_table_string(t, span_of(text), &id), 0);
    return id;
}

static inline uint32_t frame_of(struct frame_table *t, const char *class_name, const char *name,
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

/* Route of the function a.b.Main in captures that are made. */
static const char *made_route = "GET /orders/{id}";

/* Makes a capture of @samples samples over two stacks. It begins at @start_ns and is limited to
 * @scope. */
static inline struct profile *make_scoped(const char *id, uint64_t start_ns, unsigned samples,
                                          const char *leaf, const char *scope)
{
    struct profile meta = { .events = { { .name = "cpu", .unit = "nanoseconds", .period = 1000 } },
                            .event_count = 1,
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
    frame_table_set_route(t, frame_table_get(t, work)->function, str(t, made_route));
    process.name = str(t, "Main");
    process.container = str(t, "0123456789abcdef");
    process.pod = str(t, "web-1");
    ck_assert_int_eq(record_process(r, &process, &thread.process), 0);
    thread.name = str(t, "main \xf0\x9f\x98\x80");
    ck_assert_int_eq(record_thread(r, &thread, &tid), 0);
    for (unsigned i = 0; i < samples; i++) {
        uint32_t stack[2] = { work, run };
        bool deep = i % 3;

        ck_assert_int_eq(
            record_sample(
                r,
                &(struct profile_sample){
                    .time_ns = 500 + i * 10,
                    .thread = tid,
                    .count = 1 + i % 2,
                    .mode = i % 2,
                    .flags = (uint16_t)(i % 5 ? 0x50 : PROFILE_SAMPLE_TRUNCATED | 0x500) },
                deep ? stack : &run, deep ? 2 : 1),
            0);
    }
    record_warn(r, "a warning with \"quotes\"");
    snprintf(meta.id, sizeof(meta.id), "%s", id);
    snprintf(meta.scope, sizeof(meta.scope), "%s", scope);
    ck_assert_int_eq(record_finish(r, &meta, &p), 0);
    record_free(r);
    frame_table_free(t);
    return p;
}

static inline struct profile *make_profile(const char *id, uint64_t start_ns, unsigned samples,
                                           const char *leaf)
{
    return make_scoped(id, start_ns, samples, leaf, "");
}

/* Runs @tc, which it takes, with a folder for each test. Returns the value for main(). */
static inline int run_store_tests(const char *name, TCase *tc)
{
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    return suite_run_case(name, tc);
}
