/* SPDX-License-Identifier: Apache-2.0 */
/* push: which minutes are sent, by the test's clock. Each is sent once, through hours without an
 * engine and restarts. */
#include "suite.h"

#include "push/push_impl.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#define MINUTE PUSH_KEPT_NS
#define START (UINT64_C(29000000) * MINUTE) /* begin of a minute */
#define TAKEN_MAX 200

static char folder[] = "/tmp/flamed-minutes.XXXXXX";
static int folder_fd;
static struct profile *minute;
static struct time_range taken[TAKEN_MAX];
static size_t taken_count;
static struct push_config *config;
static struct push push;
static struct push_state state;
static bool unreadable; /* past() fails */

/* Returns a profile: the node has one sample in each minute. */
static int past(void *ctx, const struct target_selector *t, const struct time_range *range,
                const char *event, enum past_from from, struct profile **ret, struct error *err)
{
    (void)ctx;
    (void)err;
    ck_assert(t->viewer->whole && from == PAST_RECORDED &&
              strcmp(event, state.target->events) == 0);
    ck_assert_uint_lt(taken_count, TAKEN_MAX);
    if (unreadable)
        return -EIO;
    taken[taken_count++] = *range;
    *ret = profile_ref(minute);
    return 0;
}

static uint64_t known_ns; /* until when waits are known */

static int past_known(void *ctx, uint64_t *ret_ns, struct error *err)
{
    (void)ctx;
    (void)err;
    *ret_ns = known_ns;
    return 0;
}

static const struct api_backend BACKEND = { .past = past, .past_known = past_known };

static void make_minute(void)
{
    const struct profile meta = {
        .events = { { .name = "cpu", .unit = "nanoseconds", .period = 1000 } },
        .event_count = 1,
        .end_ns = MINUTE,
    };
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 42 };
    struct profile_sample s = { .count = 1 };
    struct frame_table *table = NULL;
    struct record *rec = NULL;
    uint32_t id, frame = 0;

    ck_assert_int_eq(frame_table_new(100, 1 << 16, &table), 0);
    ck_assert_int_eq(record_new(table, 10, &rec), 0);
    ck_assert_int_eq(frame_table_string(table, SPAN("shop"), &process.service), 0);
    ck_assert_int_eq(record_process(rec, &process, &thread.process), 0);
    ck_assert_int_eq(record_thread(rec, &thread, &id), 0);
    s.thread = id;
    ck_assert_int_eq(record_sample(rec, &s, &frame, 1), 0);
    ck_assert_int_eq(record_finish(rec, &meta, &minute), 0);
    record_free(rec);
    frame_table_free(table);
}

/* Starts flamed at @now_ns, to push @events. */
static void start_events(const char *events, const char *every, uint64_t spool_bytes,
                         uint64_t now_ns)
{
    struct spool_opts o = { .store_fd = folder_fd, .name = "engine", .kind = "otlp" };
    struct error err = ERROR_NULL;
    char text[128];

    snprintf(text, sizeof(text),
             "push:\n  - {name: engine, url: 'http://h', every: %s, events: [%s]}\n", every,
             events);
    ck_assert_msg(push_config_parse(span_of(text), "f", &config, &err) == 0, "%s", err.msg);
    state = (struct push_state){ .target = &config->targets[0] };
    buf_init(&state.body, SPOOL_BODY_MAX);
    o.max_bytes = spool_bytes ? spool_bytes : state.target->spool_bytes;
    o.max_age_ns = state.target->spool_age_ns;
    ck_assert_int_eq(spool_open(&o, &state.spool), 0);
    state.begin_ns = push_first_minute(&state, now_ns);
}

static void start(const char *every, uint64_t spool_bytes, uint64_t now_ns)
{
    start_events("cpu", every, spool_bytes, now_ns);
}

static void stop(void)
{
    state.spool = spool_close(state.spool);
    buf_deinit(&state.body);
    push_config_free(config);
    config = NULL;
}

/* Advances the clock to @to_ns, a second at a time. */
static uint64_t run(uint64_t from_ns, uint64_t to_ns)
{
    for (uint64_t now_ns = from_ns; now_ns < to_ns; now_ns += NSEC_PER_SEC)
        push_take_minutes(&push, &state, now_ns);
    return to_ns;
}

static struct spool_stats stats(void)
{
    struct spool_stats st;

    spool_stats(state.spool, &st);
    return st;
}

static void expect_each_once(void)
{
    for (size_t i = 0; i < taken_count; i++) {
        ck_assert_uint_eq(taken[i].to_ns - taken[i].from_ns, MINUTE);
        ck_assert_uint_eq(taken[i].from_ns, taken[0].from_ns + i * MINUTE);
    }
}

static void setup(void)
{
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    push = (struct push){ .o = { .backend = &BACKEND, .host = "node", .version = "1" } };
    taken_count = 0;
    known_ns = 0;
    unreadable = false;
    make_minute();
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
    stop();
    minute = profile_unref(minute);
    close(folder_fd);
    ck_assert_int_eq(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

START_TEST(keeps_an_hour_without_an_engine)
{
    uint64_t now_ns = START;

    start("1m", 0, now_ns);
    now_ns = run(now_ns, START + 60 * MINUTE);
    expect_each_once();
    ck_assert_uint_eq(taken_count, 59); /* the last minute is not settled yet */
    ck_assert_uint_eq(stats().bodies, taken_count);
    ck_assert_uint_eq(stats().minutes, taken_count);
    ck_assert_uint_eq(state.status.missed, 0);
    run(now_ns, START + 90 * MINUTE); /* over the age limit: counted as lost */
    expect_each_once();
    ck_assert_uint_eq(stats().bodies + stats().lost[SPOOL_TOO_OLD], taken_count);
    ck_assert_uint_ge(stats().bodies, 59);
    ck_assert_uint_eq(stats().lost[SPOOL_TOO_MUCH], 0);
    ck_assert(!stats().in_memory);
}
END_TEST

START_TEST(counts_what_has_no_room)
{
    uint64_t bytes;

    start("1m", 0, START);
    run(START, START + 3 * MINUTE);
    bytes = stats().bytes / stats().bodies * 10;
    stop();
    start("1m", bytes, START + 3 * MINUTE);
    run(START + 3 * MINUTE, START + 60 * MINUTE);
    expect_each_once();
    ck_assert_uint_le(stats().bytes, bytes);
    ck_assert_uint_ge(stats().bodies, 9);
    ck_assert_uint_eq(stats().bodies + stats().lost[SPOOL_TOO_MUCH], taken_count);
}
END_TEST

START_TEST(goes_on_after_a_restart)
{
    start("1m", 0, START);
    run(START, START + 30 * NSEC_PER_SEC);
    ck_assert_uint_eq(taken_count, 0);
    stop();
    start("1m", 0, START + MINUTE);
    run(START + MINUTE, START + 5 * MINUTE + 30 * NSEC_PER_SEC);
    ck_assert_uint_eq(taken_count, 5);
    ck_assert_uint_eq(taken[0].from_ns, START);
    stop();
    start("1m", 0, START + 8 * MINUTE); /* the history has the minutes between */
    run(START + 8 * MINUTE, START + 12 * MINUTE);
    expect_each_once();
    ck_assert_uint_eq(taken_count, 11);
    ck_assert_uint_eq(state.status.missed, 0);
    stop();
    start("1m", 0, START + 600 * MINUTE); /* too long ago */
    ck_assert_uint_eq(state.begin_ns, START + (600 - PUSH_BEHIND_MAX) * MINUTE);
    stop();
    start("5s", 0, START + 600 * MINUTE); /* the history has no parts of 5 s */
    ck_assert_uint_eq(state.begin_ns, START + 600 * MINUTE);
    stop();
    start("1m", 0, START); /* the clock was set back */
    ck_assert_uint_eq(state.begin_ns, START);
}
END_TEST

/* flamed is killed after a minute's bodies were written, before it noted the next minute. */
START_TEST(sends_no_minute_twice_after_a_kill)
{
    start("1m", 0, START);
    run(START, START + 3 * MINUTE);
    ck_assert_uint_eq(spool_newest(state.spool), taken[taken_count - 1].from_ns);
    spool_set_next(state.spool, taken[taken_count - 1].from_ns);
    stop();
    start("1m", 0, START + 3 * MINUTE);
    run(START + 3 * MINUTE, START + 6 * MINUTE);
    expect_each_once();
}
END_TEST

START_TEST(skips_what_the_machine_slept)
{
    start("1m", 0, START);
    run(START, START + 2 * MINUTE);
    push_take_minutes(&push, &state, START + 100 * MINUTE);
    ck_assert_uint_gt(state.status.missed, 90);
    ck_assert_uint_eq(state.status.missed + taken_count, 99);
}
END_TEST

/* A minute is read once its waits are known, or after a limit, and then counted. */
START_TEST(waits_for_waits)
{
    uint64_t due_ns = START + MINUTE + PUSH_SETTLE_NS, end_ns = START + MINUTE;

    start_events("cpu, wall", "1m", 0, START);
    known_ns = end_ns - 1;
    run(START, due_ns);
    ck_assert_uint_eq(push_take_minutes(&push, &state, due_ns), due_ns + PUSH_LOOK_AGAIN_NS);
    ck_assert_uint_eq(taken_count, 0);
    known_ns = end_ns;
    push_take_minutes(&push, &state, due_ns + PUSH_LOOK_AGAIN_NS);
    ck_assert_uint_eq(taken_count, 1);
    ck_assert_uint_eq(state.status.incomplete, 0);
    end_ns += MINUTE; /* the recorder learns nothing of it */
    run(due_ns, end_ns + PUSH_WAITS_NS);
    ck_assert_uint_eq(taken_count, 1);
    push_take_minutes(&push, &state, end_ns + PUSH_WAITS_NS);
    ck_assert_uint_eq(taken_count, 2);
    ck_assert_uint_eq(state.status.incomplete, 1);
    known_ns = UINT64_MAX; /* it records no waits */
    run(end_ns + PUSH_WAITS_NS, end_ns + MINUTE + PUSH_SETTLE_NS + NSEC_PER_SEC);
    ck_assert_uint_eq(taken_count, 3);
    expect_each_once();
}
END_TEST

/* Nothing of a minute that cannot be read is pushed: it is missed, and not incomplete. */
START_TEST(counts_a_missed_minute_once)
{
    start_events("cpu, wall", "1m", 0, START);
    unreadable = true;
    run(START, START + MINUTE + PUSH_WAITS_NS + NSEC_PER_SEC);
    ck_assert_uint_eq(state.status.missed, 1);
    ck_assert_uint_eq(state.status.incomplete, 0);
}
END_TEST

START_TEST(allocations_wait_for_nothing)
{
    start_events("cpu, alloc", "1m", 0, START);
    known_ns = START; /* no wait is known */
    run(START, START + MINUTE + PUSH_SETTLE_NS + NSEC_PER_SEC);
    ck_assert_uint_eq(taken_count, 1);
    ck_assert_uint_eq(state.status.incomplete, 0);
}
END_TEST

/* A node pushes for three hours to an engine that is away for the second, which is the limit of
 * age: that loses a minute or two, and counts them. */
START_TEST(three_hours)
{
    uint64_t number, accepted = 0;

    start("1m", 0, START);
    state.phase_ns = 33 * NSEC_PER_SEC;
    for (uint64_t now_ns = START; now_ns < START + 180 * MINUTE; now_ns += 10 * NSEC_PER_SEC) {
        push_take_minutes(&push, &state, now_ns);
        while ((now_ns < START + 60 * MINUTE || now_ns >= START + 120 * MINUTE) &&
               spool_first(state.spool, &state.body, &number)) {
            spool_remove(state.spool, number);
            accepted++;
        }
    }
    expect_each_once();
    ck_assert_uint_ge(taken_count, 178);
    ck_assert_uint_eq(accepted + stats().lost[SPOOL_TOO_OLD], taken_count);
    ck_assert_uint_le(stats().lost[SPOOL_TOO_OLD], 2);
    ck_assert_uint_eq(state.status.missed, 0);
}
END_TEST

/* A thousand nodes push to one engine: no second has over three times the mean. */
START_TEST(nodes_are_spread_over_a_minute)
{
    unsigned of_second[60] = { 0 };
    char name[64];

    for (int i = 0; i < 1000; i++) {
        if (_i == 0)
            (void)snprintf(name, sizeof(name), "node-%d", i);
        else
            (void)snprintf(name, sizeof(name), "ip-10-0-%d-%d.compute.internal", i / 250, i % 250);
        of_second[push_spread(name) % MINUTE / NSEC_PER_SEC]++;
    }
    for (size_t i = 0; i < ARRAY_SIZE(of_second); i++)
        ck_assert_uint_le(of_second[i], 50);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_minutes");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, keeps_an_hour_without_an_engine);
    tcase_add_test(tc, counts_what_has_no_room);
    tcase_add_test(tc, goes_on_after_a_restart);
    tcase_add_test(tc, sends_no_minute_twice_after_a_kill);
    tcase_add_test(tc, skips_what_the_machine_slept);
    tcase_add_test(tc, waits_for_waits);
    tcase_add_test(tc, counts_a_missed_minute_once);
    tcase_add_test(tc, allocations_wait_for_nothing);
    tcase_add_test(tc, three_hours);
    tcase_add_loop_test(tc, nodes_are_spread_over_a_minute, 0, 2);
    return suite_run_case("push_minutes", tc);
}
