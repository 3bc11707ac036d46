/* SPDX-License-Identifier: Apache-2.0 */
/* past_profile(): a sample counts once even if the history takes it over during the read. The
 * latest facts of a process decide whether it is selected. */
#include "api/api_impl.h"
#include "api/past_impl.h"
#include "base/text.h"
#include "history_fixture.h"

#include <sys/eventfd.h>

#define SAMPLES 50 /* in the recorder, 100 a second */

static struct history *history;
static struct flight *flight;
static uint64_t minute_ns; /* a minute that has ended; the recorder began in its middle */
static bool race;          /* true: the minute is written after the engine answered */

/* ---- the minute that is written ---- */

static void put_slice(void *cookie, struct profile *slice)
{
    struct history_minute m = { .start_ns = minute_ns + HISTORY_MINUTE_NS / 2,
                                .end_ns = minute_ns + HISTORY_MINUTE_NS,
                                .slices = &slice,
                                .slice_count = 1 };

    (void)cookie;
    ck_assert_int_eq(history_put(history, &m, NULL), 0);
}

static void write_if_race(void)
{
    if (race)
        flight_cut(flight, minute_ns);
    race = false;
}

int __real_history_read(struct history *h, const struct history_query *q, history_profile_fn fn,
                        void *cookie, struct history_reach *ret, struct error *err);
int __wrap_history_read(struct history *h, const struct history_query *q, history_profile_fn fn,
                        void *cookie, struct history_reach *ret, struct error *err);
int __wrap_history_read(struct history *h, const struct history_query *q, history_profile_fn fn,
                        void *cookie, struct history_reach *ret, struct error *err)
{
    write_if_race();
    return __real_history_read(h, q, fn, cookie, ret, err);
}

int __real_history_sums(struct history *h, const struct history_query *q, history_sums_fn fn,
                        void *cookie, struct history_reach *ret, struct error *err);
int __wrap_history_sums(struct history *h, const struct history_query *q, history_sums_fn fn,
                        void *cookie, struct history_reach *ret, struct error *err);
int __wrap_history_sums(struct history *h, const struct history_query *q, history_sums_fn fn,
                        void *cookie, struct history_reach *ret, struct error *err)
{
    write_if_race();
    return __real_history_sums(h, q, fn, cookie, ret, err);
}

/* ---- who is asked ---- */

static void *engine_thread(void *arg)
{
    while (mailbox_run(arg))
        usleep(1000);
    return NULL;
}

static const struct target_selector ALL = { .viewer = &VIEWER_WHOLE };

static uint64_t ask_profile(struct api *api)
{
    const struct time_range range = { minute_ns - 3600 * NSEC_PER_SEC, UINT64_MAX };
    struct past_recorder recorder;
    struct profile *p = NULL;
    uint64_t total;

    ck_assert_int_eq(
        past_profile(api, &ALL, &range, NULL, PAST_RECORDER | PAST_HISTORY, &p, &recorder, NULL),
        0);
    total = p->total;
    profile_unref(p);
    return total;
}

static void add_sums(void *cookie, const struct history_sums *s)
{
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        *(uint64_t *)cookie += s->samples[i];
}

static uint64_t since_ns; /* of the last ask_timeline(): where the recorder's part begins */

static uint64_t ask_timeline(struct api *api)
{
    const struct time_range range = { minute_ns - 3600 * NSEC_PER_SEC, UINT64_MAX };
    uint64_t total = 0;
    struct past_sums sums = { .fn = add_sums, .cookie = &total };
    struct past_recorder recorder;
    struct profile *p = NULL;

    ck_assert_int_eq(
        past_timeline(api, &ALL, &range, /* store= */ false, &sums, &p, &recorder, NULL), 0);
    since_ns = recorder.since_ns;
    total += p ? p->total : 0; /* NULL: the history has all samples */
    profile_unref(p);
    return total;
}

static void record(struct frame_table *t)
{
    struct profile_process process = { .host_pid = 42, .start_ticks = 7, .name = str(t, "Main") };
    struct profile_thread thread = { .host_tid = 43, .name = str(t, "main") };
    uint64_t at_ns =
        minute_ns + HISTORY_MINUTE_NS / 2 - (clock_realtime_ns() - clock_monotonic_ns());
    uint32_t leaf = frame_of(t, "a.b.Main", "work", 1);

    for (uint64_t i = 0; i < SAMPLES; i++)
        ck_assert_int_eq(flight_sample(flight,
                                       &(struct profile_sample){
                                           .time_ns = at_ns + i * 10 * NSEC_PER_MSEC, .count = 1 },
                                       (struct flight_origin){ &process, &thread, NULL }, &leaf, 1),
                         0);
}

START_TEST(a_minute_written_meanwhile_counts_once)
{
    static const struct made_jvm BEFORE = { 42, 0, "shop", "work", 20, NULL };
    const struct profile_event events[] = {
        { .name = "cpu", .unit = "nanoseconds", .period = 1000 },
        { .name = "offcpu", .unit = "nanoseconds" }
    };
    uint64_t (*ask)(struct api * api) = _i % 2 ? ask_timeline : ask_profile;
    bool young = _i / 2; /* the history has nothing of the time before the recorder */
    struct recorder made = { .period_ns = 1000 }, *recorder = &made;
    struct mailbox mailbox;
    struct api api = { .engine = { .mailbox = &mailbox, .recorder = &recorder } };
    struct frame_table *t = NULL;
    pthread_t thread;
    uint64_t before;

    minute_ns = clock_realtime_ns() / HISTORY_MINUTE_NS * HISTORY_MINUTE_NS - HISTORY_MINUTE_NS;
    api.engine.history = history = open_history(1 << 30, 864000);
    if (!young)
        ck_assert_int_eq(put_minute(history, minute_ns - HISTORY_MINUTE_NS, &BEFORE, 1), 0);
    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    ck_assert_int_eq(flight_new(t, events, 2, 3600 * NSEC_PER_SEC, 1 << 20, &flight), 0);
    made.flight = flight;
    flight_on_finish(flight, FLIGHT_TO_HISTORY, put_slice, NULL);
    record(t);
    mailbox_init(&mailbox);
    mailbox.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_eq(pthread_create(&thread, NULL, engine_thread, &mailbox), 0);

    before = ask(&api);
    if (young)
        ck_assert_uint_eq(before, SAMPLES);
    else
        ck_assert_uint_gt(before, SAMPLES); /* history and recorder both have a part */
    race = true;
    if (young) /* it does not read the history */
        write_if_race();
    ck_assert_uint_eq(ask(&api), before);
    ck_assert(!race);
    ck_assert_uint_eq(ask(&api), before);
    history_roll(history, 0, NULL); /* as spill.c does after each minute */
    ck_assert_uint_eq(ask(&api), before);
    if (_i % 2 && young) /* all times of samples are known */
        ck_assert_uint_lt(since_ns, minute_ns + HISTORY_MINUTE_NS);
    else if (_i % 2)
        ck_assert_uint_eq(since_ns, minute_ns + HISTORY_MINUTE_NS); /* not its oldest sample */

    mailbox_stop(&mailbox);
    pthread_join(thread, NULL);
    close(mailbox.wake_fd);
    mailbox_deinit(&mailbox);
    flight_free(flight);
    frame_table_free(t);
    history_close(history);
}
END_TEST

/* ---- which process ---- */

static void sample(struct frame_table *t, uint64_t at_ns, int32_t pid, const char *service,
                   uint32_t owner)
{
    struct profile_process process = {
        .host_pid = pid, .start_ticks = 7, .name = str(t, "Main"), .owner = owner
    };
    struct profile_thread thread = { .host_tid = pid, .name = str(t, "main") };
    uint32_t leaf = frame_of(t, "a.b.Main", "work", 1);

    if (service[0])
        process.service = str(t, service);
    ck_assert_int_eq(flight_sample(flight, &(struct profile_sample){ .time_ns = at_ns, .count = 1 },
                                   (struct flight_origin){ &process, &thread, NULL }, &leaf, 1),
                     0);
}

static uint64_t recorded_of(struct api *api, const struct viewer *v, const char *service,
                            uint64_t from_ns, uint64_t to_ns)
{
    const struct target_selector t = { .viewer = v, .service = service };
    uint64_t offset = clock_realtime_ns() - clock_monotonic_ns(), total = 0;
    const struct time_range range = { from_ns + offset, to_ns + offset };
    struct past_recorder recorder;
    struct profile *p = NULL;

    if (past_profile(api, &t, &range, NULL, PAST_RECORDER, &p, &recorder, NULL) == 0)
        total = p->total;
    profile_unref(p);
    return total;
}

/* The first samples of a JVM have no service, or that of its main class. */
START_TEST(what_is_known_last_decides)
{
    static const struct viewer USER = { .uid = 1000 };
    const struct profile_event event = { .name = "cpu", .unit = "nanoseconds", .period = 1000 };
    struct recorder made = { .period_ns = 1000 }, *recorder = &made;
    struct mailbox mailbox;
    struct api api = { .engine = { .mailbox = &mailbox, .recorder = &recorder } };
    uint64_t from_ns = clock_monotonic_ns() - 60 * NSEC_PER_SEC, s = NSEC_PER_SEC;
    struct frame_table *t = NULL;
    pthread_t thread;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    ck_assert_int_eq(flight_new(t, &event, 1, 3600 * s, 1 << 20, &flight), 0);
    made.flight = flight;
    sample(t, from_ns + 1 * s, 42, "", 1000);
    sample(t, from_ns + 2 * s, 42, "Main", 1000);
    sample(t, from_ns + 3 * s, 43, "Main", 1000);  /* 43 keeps that name */
    sample(t, from_ns + 4 * s, 44, "Main", 0);     /* 44 gets another user later */
    sample(t, from_ns + 20 * s, 42, "shop", 1000); /* in another slice */
    sample(t, from_ns + 21 * s, 44, "shop", 1000);
    sample(t, from_ns + 40 * s, 43, "Main", 1000);
    mailbox_init(&mailbox);
    mailbox.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_eq(pthread_create(&thread, NULL, engine_thread, &mailbox), 0);

    ck_assert_uint_eq(recorded_of(&api, &VIEWER_WHOLE, "shop", from_ns, from_ns + 50 * s), 5);
    ck_assert_uint_eq(recorded_of(&api, &VIEWER_WHOLE, "Main", from_ns, from_ns + 50 * s), 2);
    /* This time ends before the name was known. */
    ck_assert_uint_eq(recorded_of(&api, &VIEWER_WHOLE, "shop", from_ns, from_ns + 10 * s), 3);
    ck_assert_uint_eq(recorded_of(&api, &VIEWER_WHOLE, "Main", from_ns, from_ns + 10 * s), 1);
    /* The owner of those samples is that of the time. */
    ck_assert_uint_eq(recorded_of(&api, &USER, "shop", from_ns, from_ns + 50 * s), 4);

    mailbox_stop(&mailbox);
    pthread_join(thread, NULL);
    close(mailbox.wake_fd);
    mailbox_deinit(&mailbox);
    flight_free(flight);
    frame_table_free(t);
}
END_TEST

/* Number @i of the names on which "order.*service" takes too many steps. */
static void make_slow_name(size_t i, char *name, size_t size)
{
    snprintf(name, size, "%zu", i);
    for (size_t k = strlen(name); k < size; k++)
        name[k] = "order"[k % 5];
    name[size - 1] = '\0';
}

/* One past JVM whose name is slow to match hides no other. After 64 of them, of 16 owners, an
 * answer is refused. */
START_TEST(names_that_are_slow_to_match)
{
    const struct target_selector t = { .viewer = &VIEWER_WHOLE, .jvm = "order.*service" };
    struct history_image image = made_image(42, "shop");
    struct error err = ERROR_NULL;
    struct past_filter filter;
    char name[512];

    ck_assert_int_eq(past_filter_init(&t, &filter, NULL), 0);
    for (size_t i = 1; i <= MATCH_SLOW_NAMES_MAX; i++) {
        ck_assert_int_eq(past_filter_refuse(&filter, 1, NULL), 1);
        make_slow_name(i, name, sizeof(name));
        image.name = name;
        image.payer = 1 + i % 16; /* a single one has room for four */
        ck_assert(!past_wants_image(&filter, &image));
        image.name = "order-service";
        ck_assert(past_wants_image(&filter, &image));
    }
    image.service = ""; /* it is no JVM */
    ck_assert(!past_wants_image(&filter, &image));
    ck_assert_int_eq(past_filter_refuse(&filter, 0, &err), -EINVAL);
    ck_assert_msg(strstr(err.msg, "too many steps on 64 names"), "%s", err.msg);
    past_filter_deinit(&filter);
}
END_TEST

/* A process of the recorder is charged to its owner, not to its container: several owners have
 * none. */
/* A name that does not fit is cut between characters. */
START_TEST(the_words_are_valid_utf8)
{
#define FIVE "\u00e9\u00e9\u00e9\u00e9\u00e9"
    const struct target_selector t = { .viewer = &VIEWER_WHOLE,
                                       .service = "1" FIVE FIVE FIVE FIVE FIVE FIVE };
    struct past_filter filter = { .t = &t };
    struct profile meta;

    past_meta(&filter, 0, 1, &meta);
    ck_assert_msg(text_is_utf8(span_of(meta.target)), "%s", meta.target);
    ck_assert_ptr_eq(strstr(meta.target, "service 1" FIVE), meta.target);
}
END_TEST

static const struct {
    const char *events, *warning;
} MISSING[] = {
    { "cpu,cycles", "event=cycles is missing: where the flight recorder or the history has the "
                    "other events, captures are not read. Ask for event=cycles alone" },
    { "cpu,lock", "no samples of event=lock are known in that time" },
    { "page-faults,cycles", "no samples of event=page-faults are known in that time: the flight "
                            "recorder has only cpu, offcpu, wall, lock and alloc" },
    { "cpu", NULL },
};

/* A capture of an event that is not recorded is read only if all events are so. */
START_TEST(what_is_not_read_is_not_called_unknown)
{
    const struct target_selector t = { .viewer = &VIEWER_WHOLE };
    struct profile *p = make_profile("a", NSEC_PER_SEC, 3, "leaf");
    size_t had = p->warning_count;

    past_warn(&t, "", MISSING[_i].events, p);
    ck_assert_int_eq(p->warning_count > had, MISSING[_i].warning != NULL);
    if (MISSING[_i].warning)
        ck_assert_str_eq(p->warnings[had], MISSING[_i].warning);
    profile_unref(p);
}
END_TEST

START_TEST(recorded_names_that_are_slow_to_match)
{
    const struct target_selector t = { .viewer = &VIEWER_WHOLE, .jvm = "order.*service|shop" };
    struct profile_process process = { .host_pid = 42, .payer = 1 };
    struct past_filter filter;
    struct profile p = { 0 };
    char name[4096];

    ck_assert_int_eq(intern_new(1 << 20, &p.strings), 0);
    ck_assert_int_eq(intern_add(p.strings, SPAN("shop"), &process.service), 0);
    ck_assert_int_eq(past_filter_init(&t, &filter, NULL), 0);
    for (size_t i = 0; i <= MATCH_OWNER_SLOW_NAMES_MAX; i++) {
        make_slow_name(i, name, sizeof(name));
        ck_assert_int_eq(intern_add(p.strings, span_of(name), &process.name), 0);
        ck_assert(!past_wants(&filter, &p, &process));
    }
    /* It takes some steps: more than are left for the first owner. */
    make_slow_name(0, name, 200);
    memcpy(name + 150, "-shop", sizeof("-shop"));
    ck_assert_int_eq(intern_add(p.strings, span_of(name), &process.name), 0);
    ck_assert(!past_wants(&filter, &p, &process));
    process.payer = 2;
    ck_assert(past_wants(&filter, &p, &process));
    process.service = 0; /* it is no JVM */
    ck_assert(!past_wants(&filter, &p, &process));
    past_filter_deinit(&filter);
    intern_free(p.strings);
}
END_TEST

/* A single pid is answered by its last program: over a restart of flamed, which then counts its
 * execs again, but without what the process ran before. */
START_TEST(a_pid_over_a_restart_of_flamed)
{
    static const struct made_jvm LAUNCHER = { 42, 0, "launcher", "work", 30, NULL },
                                 SHOP = { 42, 0, "shop", "work", 20, NULL };
    const struct target_selector t = { .viewer = &VIEWER_WHOLE, .pids = { 42 }, .pid_count = 1 };
    const struct profile_event event = { .name = "cpu", .unit = "nanoseconds", .period = 1000 };
    uint64_t now_ns = clock_realtime_ns(), from_ns = now_ns - 10 * HISTORY_MINUTE_NS;
    const struct time_range range = { from_ns, UINT64_MAX };
    struct recorder made = { .period_ns = 1000 }, *recorder = &made;
    struct mailbox mailbox;
    struct api api = { .engine = { .mailbox = &mailbox, .recorder = &recorder } };
    struct past_recorder told;
    struct frame_table *table = NULL;
    struct profile *p = NULL;
    pthread_t thread;

    from_ns -= from_ns % HISTORY_MINUTE_NS;
    api.engine.history = history = open_history(1 << 30, 864000);
    made_exec_no = 1;
    ck_assert_int_eq(put_minute(history, from_ns + HISTORY_MINUTE_NS, &LAUNCHER, 1), 0);
    made_exec_no = 2;
    ck_assert_int_eq(put_minute(history, from_ns + 2 * HISTORY_MINUTE_NS, &SHOP, 1), 0);
    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &table), 0);
    ck_assert_int_eq(flight_new(table, &event, 1, 3600 * NSEC_PER_SEC, 1 << 20, &flight), 0);
    made.flight = flight;
    sample(table, clock_monotonic_ns() - NSEC_PER_SEC, 42, "shop", 0);
    mailbox_init(&mailbox);
    mailbox.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_eq(pthread_create(&thread, NULL, engine_thread, &mailbox), 0);

    ck_assert_int_eq(
        past_profile(&api, &t, &range, NULL, PAST_RECORDER | PAST_HISTORY, &p, &told, NULL), 0);
    ck_assert_uint_eq(p->total, 1 + 20);

    profile_unref(p);
    mailbox_stop(&mailbox);
    pthread_join(thread, NULL);
    close(mailbox.wake_fd);
    mailbox_deinit(&mailbox);
    flight_free(flight);
    frame_table_free(table);
    history_close(history);
}
END_TEST

/* Moments are of no event: with several events of one time, each counts once. */
START_TEST(a_moment_of_several_events)
{
    const struct target_selector t = { .viewer = &VIEWER_WHOLE };
    const struct profile_event events[] = {
        { .name = "cpu", .unit = "nanoseconds", .period = 1000 },
        { .name = "offcpu", .unit = "nanoseconds", .valued = true }
    };
    const uint64_t now_ns = clock_monotonic_ns(), at_ns = now_ns - NSEC_PER_SEC;
    const struct time_range range = { clock_realtime_ns() - 60 * NSEC_PER_SEC, UINT64_MAX };
    const struct profile_process process = { .host_pid = 42, .start_ticks = 7 };
    const struct profile_thread thread = { .host_tid = 42 };
    struct looks looks = { .stats.passes = 1 };
    struct recorder made = { .period_ns = 1000, .looks = &looks }, *recorder = &made;
    struct mailbox mailbox;
    struct api api = { .engine = { .mailbox = &mailbox, .recorder = &recorder } };
    struct past_recorder told;
    struct frame_table *table = NULL;
    struct profile *p = NULL;
    pthread_t worker;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &table), 0);
    ck_assert_int_eq(flight_new(table, events, 2, 3600 * NSEC_PER_SEC, 1 << 20, &flight), 0);
    made.flight = flight;
    sample(table, at_ns, 42, "shop", 0);
    ck_assert_int_eq(flight_sample(flight,
                                   &(struct profile_sample){
                                       .time_ns = at_ns,
                                       .count = 1,
                                       .event = RECORDER_OFFCPU,
                                       .value = NSEC_PER_MSEC,
                                       .flags = STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT },
                                   (struct flight_origin){ &process, &thread, NULL },
                                   &(uint32_t){ frame_of(table, "a.b.Main", "work", 1) }, 1),
                     0);
    ck_assert_int_eq(flight_moment(flight,
                                   &(struct profile_moment){ .start_ns = at_ns - NSEC_PER_MSEC,
                                                             .end_ns = at_ns + NSEC_PER_MSEC,
                                                             .kind = MOMENT_IS_GC },
                                   &process),
                     0);
    mailbox_init(&mailbox);
    mailbox.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_eq(pthread_create(&worker, NULL, engine_thread, &mailbox), 0);

    ck_assert_int_eq(
        past_profile(&api, &t, &range, "cpu,offcpu,wall", PAST_RECORDER, &p, &told, NULL), 0);
    ck_assert_uint_eq(p->event_count, 3);
    ck_assert_uint_eq(p->total, 4); /* one of cpu, one of offcpu, and both as wall */
    ck_assert_uint_eq(p->moment_count, 1);

    profile_unref(p);
    mailbox_stop(&mailbox);
    pthread_join(worker, NULL);
    close(mailbox.wake_fd);
    mailbox_deinit(&mailbox);
    flight_free(flight);
    frame_table_free(table);
}
END_TEST

/* The same number of another flamed may be that of the launcher, which has no service. */
START_TEST(a_stored_launcher)
{
    struct past_program shop = { 42, 1, 7, "shop", "shop" }, launcher = { 42, 1, 7, "sh", "" },
                        renamed = { 42, 1, 7, "shop-2", "shop-2" };
    struct past_filter filter = { .stored = true };

    past_pin(&filter, &shop);
    ck_assert(past_is_pinned(&filter, &shop));
    ck_assert(past_is_pinned(&filter, &renamed));
    ck_assert(!past_is_pinned(&filter, &launcher));
    shop.exec_no++;
    ck_assert(past_is_pinned(&filter, &shop));
    filter.stored = false; /* the JVM's first samples in the recorder */
    ck_assert(past_is_pinned(&filter, &launcher));
}
END_TEST

/* A stored capture is wanted for one process that meets all selectors, not for two that meet one
 * each. */
START_TEST(one_process_meets_all_selectors)
{
    struct store_process processes[] = {
        { 1, "Shop", "c1", "p1", "n1", "shop", 1 },
        { 2, "Pay", "c2", "p2", "n2", "pay", 1 },
        { 5, "Pay", "c1", "p1", "n1", "", 1 }, /* it is no JVM */
    };
    const struct store_capture c = { .processes = processes, .process_count = 3 };
    struct target_selector t = { .pids = { 1, 3 }, .pid_count = 2, .service = "pay" };
    const struct target_selector one[] = { { .container = "c1" },
                                           { .pod = "p1" },
                                           { .pod_namespace = "n1" } };
    _cleanup_(match_freep) struct match *pay = NULL, *shop = NULL;

    ck_assert(!capture_has_wanted(&c, &t, NULL));
    t.service = "shop";
    ck_assert(capture_has_wanted(&c, &t, NULL));
    t.pids[0] = 4;
    ck_assert(!capture_has_wanted(&c, &t, NULL));
    ck_assert_int_eq(match_new(&(const char *){ "Pay" }, 1, "jvm", &pay, NULL), 0);
    ck_assert_int_eq(match_new(&(const char *){ "Shop" }, 1, "jvm", &shop, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(one); i++) {
        ck_assert(capture_has_wanted(&c, &one[i], shop));
        ck_assert(!capture_has_wanted(&c, &one[i], pay));
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("past_recorded");

    tcase_add_loop_test(tc, a_minute_written_meanwhile_counts_once, 0, 4);
    tcase_add_test(tc, what_is_known_last_decides);
    tcase_add_test(tc, names_that_are_slow_to_match);
    tcase_add_test(tc, recorded_names_that_are_slow_to_match);
    tcase_add_test(tc, a_pid_over_a_restart_of_flamed);
    tcase_add_test(tc, a_moment_of_several_events);
    tcase_add_test(tc, a_stored_launcher);
    tcase_add_loop_test(tc, what_is_not_read_is_not_called_unknown, 0, ARRAY_SIZE(MISSING));
    tcase_add_test(tc, the_words_are_valid_utf8);
    tcase_add_test(tc, one_process_meets_all_selectors);
    return run_store_tests("past_recorded", tc);
}
