/* SPDX-License-Identifier: Apache-2.0 */
/* api/deploys.h: once the history has the minutes after a release, the release's effect becomes a
 * mark and a metric. That happens once only, also over a restart. */
#include "api/deploys.h"

#include "api/api_impl.h"
#include "api/json.h"
#include "discover/service.h"
#include "history_fixture.h"
#include "request/json_text.h"

#include <math.h>

#define BEFORE 60 /* minutes of the release before */
#define AFTER 16
#define MINUTE(n) (T0 + (uint64_t)(n)*HISTORY_MINUTE_NS)
#define DUE (MINUTE(BEFORE) + 14 * HISTORY_MINUTE_NS)

static struct history *history;
static struct api api;
static struct engine_opts opts;
static struct captures captures;

static int known = BEFORE; /* minutes of the release before in which flamed ran */
static unsigned busy = 1;  /* factor of all samples */
static unsigned grown;     /* further samples of "work" in the later release */
static bool early_waits = true;
static bool impostor;      /* a JVM in a container claims to be the later release */
static const char *longer; /* waits of the later release are longer, and of this event */

/* In place of the engine's thread. */
int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)err;
    return fn(a, arg);
}

/* History with more marks than it passes. */
static size_t marks_passed = SIZE_MAX, marks_seen;
static history_mark_fn mark_fn;

static void pass_some(void *cookie, const struct history_mark *m)
{
    if (marks_seen++ < marks_passed)
        mark_fn(cookie, m);
}

int __real_history_marks(struct history *h, const struct history_query *q, history_mark_fn fn,
                         void *cookie, uint64_t *ret_left_out, struct error *err);
int __wrap_history_marks(struct history *h, const struct history_query *q, history_mark_fn fn,
                         void *cookie, uint64_t *ret_left_out, struct error *err);
int __wrap_history_marks(struct history *h, const struct history_query *q, history_mark_fn fn,
                         void *cookie, uint64_t *ret_left_out, struct error *err)
{
    int r;

    mark_fn = fn;
    marks_seen = 0;
    r = __real_history_marks(h, q, pass_some, cookie, ret_left_out, err);
    if (marks_seen > marks_passed)
        *ret_left_out += marks_seen - marks_passed;
    return r;
}

/* Drops the waits of @p. */
static void drop_waits(struct profile *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->sample_count; i++) {
        if (p->samples[i].event == 0)
            p->samples[kept++] = p->samples[i];
    }
    p->sample_count = kept;
    p->event_count = 1;
}

/* Writes a minute of the service. @more: samples of a function that only the later release has. */
static void put(int minute, const char *version, unsigned more)
{
    int32_t pid = minute < BEFORE ? 42 : 43;
    unsigned work = 40 + (unsigned)minute % 7 + (minute < BEFORE ? 0 : grown);
    bool claimed = impostor && minute >= BEFORE;
    struct made_jvm jvms[4] = { { pid, 1000, "shop", "work", busy * work, NULL },
                                { pid, 1000, "shop", "rest", busy * (60 + (unsigned)minute % 5),
                                  NULL } };
    struct history_image images[] = { made_image(pid, "shop"), made_image(44, "shop") };
    struct profile *slice;
    size_t count = 2;

    if (more)
        jvms[count++] =
            (struct made_jvm){ pid, 1000, "shop", "matchTenantRule", busy * more, NULL };
    if (claimed)
        jvms[count++] = (struct made_jvm){ 44, 1000, "shop", "claim", 900, NULL };
    slice = make_slice(MINUTE(minute), jvms, count);
    for (size_t i = 0; i < 2; i++) {
        images[i].version = i ? "9.9" : version;
        images[i].java = "21";
        images[i].flags = 5;
        images[i].started_ns = MINUTE(minute < BEFORE ? 0 : BEFORE) + i;
    }
    images[1].container = "bb";
    for (size_t i = 0; i < slice->process_count; i++) {
        if (slice->processes[i].host_pid == 44)
            intern_add(slice->strings, SPAN("bb"), &slice->processes[i].container);
    }
    if (minute < BEFORE && !early_waits)
        drop_waits(slice);
    if (longer)
        snprintf(slice->events[1].name, sizeof(slice->events[1].name), "%s", longer);
    for (size_t i = 0; longer && minute >= BEFORE && i < slice->sample_count; i++)
        slice->samples[i].value *= 10;
    put_images(history, MINUTE(minute), slice, images, claimed ? 2 : 1);
}

static void make_for(unsigned more, int after)
{
    history = open_history(1 << 30, 864000);
    api = (struct api){ .engine = { .history = history, .opts = &opts, .captures = &captures } };
    for (int i = BEFORE - known; i < BEFORE; i++)
        put(i, "2.4.0", 0);
    for (int i = BEFORE; i < BEFORE + after; i++)
        put(i, "2.4.1", more ? more + (unsigned)i % 3 : 0);
}

static void make(unsigned more)
{
    make_for(more, AFTER);
}

struct seen {
    int changes;
    char text[512];
    double value;
};

static void see(void *cookie, const struct history_mark *m)
{
    struct seen *s = cookie;

    if (m->kind != HISTORY_MARK_CHANGE)
        return;
    s->changes++;
    s->value = m->value;
    ck_assert_int_eq(m->image->host_pid, 43);
    snprintf(s->text, sizeof(s->text), "%s", m->text);
}

static struct seen marks(void)
{
    struct history_query q = { .to_ns = UINT64_MAX };
    struct seen s = { 0 };
    uint64_t left_out;

    ck_assert_int_eq(history_marks(history, &q, see, &s, &left_out, NULL), 0);
    return s;
}

/* Looks at releases like a flamed that has just started. */
static struct seen look(uint64_t now_ns, const struct viewer *v, struct buf *metrics)
{
    struct error err = ERROR_NULL;
    struct deploys *d = NULL;

    ck_assert_int_eq(deploys_new(&api, &d), 0);
    ck_assert_msg(deploys_look(d, now_ns, &err) == 0, "%s", err.msg);
    deploys_metrics(d, v, metrics);
    deploys_free(d);
    return marks();
}

START_TEST(tells_what_a_release_changed)
{
    const struct viewer stranger = { .uid = 1001 }, owner = { .uid = 1000 };
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct seen s;

    buf_init(&out, 1 << 16);
    make(12);
    ck_assert_int_eq(look(MINUTE(BEFORE) + 13 * HISTORY_MINUTE_NS, &owner, &out).changes, 0);
    ck_assert_ptr_null(strstr(out.p, "flamed_regression{"));
    s = look(DUE, &stranger, &out);
    ck_assert_int_eq(s.changes, 1);
    ck_assert_msg(strncmp(s.text, "since 2.4.1: +1", 15) == 0 &&
                      strstr(s.text, " % CPU, a.b.Main.matchTenantRule"),
                  "%s", s.text);
    ck_assert_double_gt(s.value, 9);
    ck_assert_double_lt(s.value, 16);
    ck_assert_ptr_null(strstr(out.p, "flamed_regression{"));
    s = look(DUE + HISTORY_MINUTE_NS, &owner, &out);
    ck_assert_int_eq(s.changes, 1);
    ck_assert_ptr_nonnull(strstr(
        out.p,
        "flamed_regression{service=\"shop\",namespace=\"\",container=\"\",version=\"2.4.1\"} 1"));
    history_close(history);
}
END_TEST

/* flamed began a few minutes before the release: its mark has a figure, and says so. */
START_TEST(tells_with_few_minutes_before)
{
    static const int MINUTES[] = { 1, 3, 8 };
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 16);
    char text[64];
    struct seen s;

    known = MINUTES[_i];
    busy = 9;
    make(40);
    busy = 1;
    known = BEFORE;
    s = look(DUE, &VIEWER_WHOLE, &out);
    ck_assert_int_eq(s.changes, 1);
    snprintf(text, sizeof(text), "a.b.Main.matchTenantRule; only %d minute%s before %s known",
             MINUTES[_i], _i ? "s" : "", _i ? "are" : "is");
    ck_assert_msg(strncmp(s.text, "since 2.4.1: +", 14) == 0 && strstr(s.text, text), "%s", s.text);
    ck_assert_double_gt(s.value, 20);
    ck_assert_double_lt(s.value, 50);
    ck_assert_ptr_nonnull(strstr(out.p, "version=\"2.4.1\"} "));
    history_close(history);
}
END_TEST

/* A JVM in a container that claims to be the service is neither its release, nor in its figures. */
START_TEST(another_container_counts_for_nothing)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct seen s;

    buf_init(&out, 1 << 16);
    impostor = true;
    make(12);
    impostor = false;
    s = look(DUE, &VIEWER_WHOLE, &out);
    ck_assert_int_eq(s.changes, 1);
    ck_assert_msg(strncmp(s.text, "since 2.4.1: +1", 15) == 0 &&
                      strstr(s.text, " % CPU, a.b.Main.matchTenantRule"),
                  "%s", s.text);
    ck_assert_ptr_null(strstr(out.p, "9.9"));
    history_close(history);
}
END_TEST

/* The new function ranks first, and the one that shrank changed more. */
START_TEST(names_the_function_that_grew_most)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct seen s;

    buf_init(&out, 1 << 16);
    grown = 50;
    make(12);
    grown = 0;
    s = look(DUE, &VIEWER_WHOLE, &out);
    ck_assert_int_eq(s.changes, 1);
    ck_assert_msg(strstr(s.text, " % CPU, a.b.Main.work"), "%s", s.text);
    ck_assert_double_gt(s.value, 8);
    history_close(history);
}
END_TEST

static void check_range(const json_t *answer, const char *side, uint64_t from_ns, uint64_t to_ns)
{
    json_t *from = json_time(from_ns), *to = json_time(to_ns), *has;

    has = json_object_get(json_object_get(answer, "ranges"), side);
    ck_assert_str_eq(json_text(has, "from"), json_string_value(from));
    ck_assert_str_eq(json_text(has, "to"), json_string_value(to));
    json_decref(from);
    json_decref(to);
}

/* Compares @a with @b. The compared ranges are earlier by @early_a and @early_b. */
static void check_ranges(const struct target_selector *t, const struct time_range *a,
                         const struct time_range *b, uint64_t early_a, uint64_t early_b)
{
    struct error err = ERROR_NULL;
    json_t *answer = NULL;

    ck_assert_msg(changes_kept(&api, t, a, b, &answer, &err) == 0, "%s", err.msg);
    check_range(answer, "a", a->from_ns - early_a, a->to_ns - early_a);
    check_range(answer, "b", b->from_ns - early_b, b->to_ns - early_b);
    json_decref(answer);
}

/* Only the later release has recorded waits. They do not count as new, and the answer says so. */
START_TEST(waits_of_one_side_are_not_compared)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range a = { MINUTE(0), MINUTE(BEFORE) },
                            b = { MINUTE(BEFORE), MINUTE(BEFORE + AFTER) };
    struct error err = ERROR_NULL;
    json_t *answer = NULL;
    char *text;

    early_waits = false;
    make(12);
    early_waits = true;
    ck_assert_msg(changes_kept(&api, &t, &a, &b, &answer, &err) == 0, "%s", err.msg);
    text = json_dumps(answer, 0);
    ck_assert_ptr_nonnull(strstr(text, "matchTenantRule"));
    ck_assert_msg(!strstr(text, "\"wait\""), "%s", text);
    ck_assert_msg(strstr(text, "No waits are recorded before"), "%s", text);
    free(text);
    json_decref(answer);
    history_close(history);
}
END_TEST

/* Allocation is compared if it is recorded. */
START_TEST(allocation_in_words)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range a = { MINUTE(0), MINUTE(BEFORE) },
                            b = { MINUTE(BEFORE), MINUTE(BEFORE + AFTER) };
    struct error err = ERROR_NULL;
    json_t *answer = NULL;
    char *text;

    longer = "alloc";
    make(0);
    longer = NULL;
    opts.recorder_alloc = _i;
    ck_assert_msg(changes_kept(&api, &t, &a, &b, &answer, &err) == 0, "%s", err.msg);
    opts.recorder_alloc = false;
    text = json_dumps(answer, 0);
    ck_assert_msg(
        _i == (strstr(text, "\"Allocation of objects in java.lang.Thread.run takes ") != NULL),
        "%s", text);
    ck_assert_msg(_i == (strstr(text, "event=alloc&") != NULL), "%s", text);
    free(text);
    json_decref(answer);
    history_close(history);
}
END_TEST

/* The sentence names the thing that is waited for as words do. */
START_TEST(waits_in_words)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range a = { MINUTE(0), MINUTE(BEFORE) },
                            b = { MINUTE(BEFORE), MINUTE(BEFORE + AFTER) };
    struct error err = ERROR_NULL;
    json_t *answer = NULL;
    char *text;

    longer = _i ? "lock" : "offcpu";
    make(0);
    longer = NULL;
    ck_assert_msg(changes_kept(&api, &t, &a, &b, &answer, &err) == 0, "%s", err.msg);
    text = json_dumps(answer, 0);
    ck_assert_msg(strstr(text, _i ? "\"Waiting for a lock of class java.lang.Thread.run takes "
                                  : "\"Waiting ([blocked]) takes "),
                  "%s", text);
    free(text);
    json_decref(answer);
    history_close(history);
}
END_TEST

/* Returns what the release that @p runs changed. */
static struct rule_release release_of(struct deploys *d, const struct process *p)
{
    struct rule_release r = { 0 };

    deploys_release(d, p, 0, &r);
    return r;
}

/* The JVMs of the release have its figure; others do not. After a restart of flamed the mark has
 * it. */
START_TEST(a_release_is_known_for_its_jvms)
{
    struct service service = { .name = "shop", .version = "2.4.1" };
    struct process p = { .owner = 1000, .service = &service };
    struct deploys *d = NULL;
    char note[DEPLOYS_NOTE_BYTES];

    make(12);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(deploys_new(&api, &d), 0);
        p.start_realtime_ns = MINUTE(BEFORE);
        ck_assert(release_of(d, &p).percent == 0);
        ck_assert_int_eq(deploys_look(d, DUE, NULL), 0);
        ck_assert_double_gt(release_of(d, &p).percent, 9);
        ck_assert_ptr_nonnull(strstr(release_of(d, &p).text, "% CPU, a.b.Main.matchTenantRule"));
        deploys_note(d, &p, DUE, note);
        ck_assert_str_eq(note, release_of(d, &p).text);
        p.owner = 1001;
        ck_assert(release_of(d, &p).percent == 0);
        deploys_note(d, &p, DUE, note);
        ck_assert_str_eq(note, "");
        p.owner = 1000;
        p.start_realtime_ns -= 2 * NSEC_PER_SEC; /* the same version ran before, with other flags */
        ck_assert(release_of(d, &p).percent == 0);
        p.start_realtime_ns = MINUTE(BEFORE + 9); /* started again */
        ck_assert_double_gt(release_of(d, &p).percent, 9);
        snprintf(service.version, sizeof(service.version), "2.4.0");
        ck_assert(release_of(d, &p).percent == 0);
        snprintf(service.version, sizeof(service.version), "2.4.1");
        snprintf(p.container.pod_namespace, sizeof(p.container.pod_namespace), "other");
        ck_assert(release_of(d, &p).percent == 0);
        p.container.pod_namespace[0] = '\0';
        snprintf(service.name, sizeof(service.name), "shops");
        ck_assert(release_of(d, &p).percent == 0);
        snprintf(service.name, sizeof(service.name), "shop");
        deploys_free(d);
    }
    history_close(history);
}
END_TEST

/* Until its effect is known, a release is known by its time. One without an effect has no note. */
START_TEST(a_release_has_a_note)
{
    struct service service = { .name = "shop", .version = "2.4.1" };
    const struct process p = { .owner = 1000,
                               .service = &service,
                               .start_realtime_ns = MINUTE(BEFORE) };
    struct deploys *d = NULL;
    char note[DEPLOYS_NOTE_BYTES];

    deploys_note(NULL, &p, DUE, note);
    ck_assert_str_eq(note, "");
    make(0);
    ck_assert_int_eq(deploys_new(&api, &d), 0);
    ck_assert_int_eq(deploys_look(d, MINUTE(BEFORE + 6), NULL), 0);
    deploys_note(d, &p, MINUTE(BEFORE + 6) + 1, note);
    ck_assert_str_eq(note, "since 2.4.1, 6 min ago");
    ck_assert_int_eq(deploys_look(d, DUE, NULL), 0);
    deploys_note(d, &p, DUE, note);
    ck_assert_str_eq(note, "");
    deploys_free(d);
    history_close(history);
}
END_TEST

/* A JVM that ended made room for a release if this is another version of it, and came soon. */
START_TEST(a_release_takes_the_place_of_jvms)
{
    static const struct {
        const char *version;
        int minute; /* of its end */
        uint32_t owner;
        bool replaced, of_image;
    } ENDS[] = {
        { "2.4.0", BEFORE - 1, 1000, true, false },
        { "2.4.0", BEFORE + 50, 1000, true, false },
        { "2.4.0", BEFORE - 10, 1000, false, false },
        { "2.4.0", BEFORE + 70, 1000, false, false },
        { "2.4.1", BEFORE + 1, 1000, false, false },
        { "", BEFORE - 1, 1000, false, false },
        { "2.4.0", BEFORE - 1, 1001, false, false },
        { "prod-7", BEFORE + 1, 1000, false, true }, /* it had not named its version yet */
    };
    struct deploys *d = NULL;

    make_for(12, 1);
    ck_assert_int_eq(deploys_new(&api, &d), 0);
    ck_assert_int_eq(deploys_look(d, MINUTE(BEFORE + 2), NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(ENDS); i++) {
        struct service service = { .name = "shop" };
        struct process p = { .owner = ENDS[i].owner, .service = &service };
        struct rule_release r = { 0 };

        snprintf(ENDS[i].of_image ? p.container.image_version : service.version,
                 sizeof(service.version), "%s", ENDS[i].version);
        deploys_release(d, &p, MINUTE(ENDS[i].minute), &r);
        ck_assert_msg(r.replaced == ENDS[i].replaced, "%zu", i);
        ck_assert_str_eq(r.text, "");
    }
    deploys_free(d);
    history_close(history);
}
END_TEST

/* The answer has the whole minutes that were compared, or the ranges that are too short. */
START_TEST(answers_what_was_compared)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range a = { MINUTE(0) + 7 * NSEC_PER_SEC, MINUTE(BEFORE) + 7 * NSEC_PER_SEC },
                            b = { MINUTE(BEFORE) + 9 * NSEC_PER_SEC,
                                  MINUTE(BEFORE + 10) + 9 * NSEC_PER_SEC },
                            briefly = { b.from_ns, b.from_ns + NSEC_PER_SEC };

    make(12);
    check_ranges(&t, &a, &b, 7 * NSEC_PER_SEC, 9 * NSEC_PER_SEC);
    check_ranges(&t, &a, &briefly, 0, 0);
    history_close(history);
}
END_TEST

START_TEST(tells_that_a_release_changed_nothing)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct seen s;

    buf_init(&out, 1 << 16);
    make(0);
    s = look(DUE, &VIEWER_WHOLE, &out);
    ck_assert_int_eq(s.changes, 1);
    ck_assert_str_eq(s.text, "since 2.4.1: No change of 0.2 % or more is significant.");
    ck_assert_ptr_nonnull(strstr(out.p, "version=\"2.4.1\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(out.p, "flamed_regression_left_out 0\n"));
    history_close(history);
}
END_TEST

/* A service that ended soon after its release gets no figure; 0 would mean no change. */
START_TEST(too_few_minutes_have_no_figure)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct seen s;

    buf_init(&out, 1 << 20);
    make_for(12, 6);
    s = look(DUE, &VIEWER_WHOLE, &out);
    ck_assert_int_eq(s.changes, 1);
    ck_assert_ptr_nonnull(strstr(s.text, ": too few to tell"));
    ck_assert(isnan(s.value));
    ck_assert_ptr_null(strstr(out.p, "flamed_regression{"));
    s = look(DUE, &VIEWER_WHOLE, &out);
    ck_assert_int_eq(s.changes, 1);
    ck_assert_ptr_null(strstr(out.p, "flamed_regression{"));
    history_close(history);
}
END_TEST

/* Writes releases of the services @from to @to of @owner in one minute, each in a container with a
 * forged id. One owner pays for all. */
static void release(int minute, uint32_t owner, int from, int to, const char *version)
{
    static struct history_image images[2 * DEPLOYS_MAX];
    static char names[2 * DEPLOYS_MAX][32], ids[2 * DEPLOYS_MAX][80];

    for (int i = 0; i < to - from; i++) {
        snprintf(names[i], sizeof(names[i]), "service-%d", from + i);
        images[i] = made_image(from + i, names[i]);
        images[i].start_ticks += (uint64_t)minute;
        images[i].owner = owner;
        images[i].payer = 7;
        snprintf(ids[i], sizeof(ids[i]), "%064x", (unsigned)(from + i));
        images[i].container = ids[i];
        images[i].version = version;
        images[i].java = "21";
        images[i].started_ns = MINUTE(minute);
    }
    put_images(history, MINUTE(minute), NULL, images, (size_t)(to - from));
}

START_TEST(a_crowd_of_services_leaves_room_for_others)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct deploys *d = NULL;

    buf_init(&out, 1 << 20);
    make(0);
    for (int i = 0; i < 2; i++)
        release(i, 1001, 1000, 1000 + DEPLOYS_MAX + 10, i ? "2" : "1");
    ck_assert_int_eq(deploys_new(&api, &d), 0);
    ck_assert_int_eq(deploys_look(d, DUE, NULL), 0);
    deploys_metrics(d, &VIEWER_WHOLE, &out);
    deploys_free(d);
    ck_assert_ptr_nonnull(
        strstr(out.p, "{service=\"shop\",namespace=\"\",container=\"\",version=\"2.4.1\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(out.p, "flamed_regression_left_out 11\n"));
    history_close(history);
}
END_TEST

/* More marks than are read: the last release is known all the same. */
START_TEST(a_crowd_of_marks_hides_no_later_release)
{
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 20);
    struct deploys *d = NULL;

    make(0);
    for (int i = 0; i < 2; i++)
        release(i, 1001, 1000, 1010, i ? "2" : "1");
    ck_assert_int_eq(deploys_new(&api, &d), 0);
    marks_passed = 4;
    ck_assert_int_eq(deploys_look(d, DUE, NULL), 0);
    marks_passed = SIZE_MAX;
    deploys_metrics(d, &VIEWER_WHOLE, &out);
    deploys_free(d);
    ck_assert_ptr_nonnull(
        strstr(out.p, "{service=\"shop\",namespace=\"\",container=\"\",version=\"2.4.1\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(out.p, "flamed_regression_left_out 0\n"));
    ck_assert_ptr_nonnull(strstr(out.p, "flamed_regression_marks_left_out 7\n"));
    history_close(history);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("deploys");

    tcase_add_test(tc, tells_what_a_release_changed);
    tcase_add_loop_test(tc, tells_with_few_minutes_before, 0, 3);
    tcase_add_test(tc, another_container_counts_for_nothing);
    tcase_add_test(tc, names_the_function_that_grew_most);
    tcase_add_test(tc, waits_of_one_side_are_not_compared);
    tcase_add_loop_test(tc, waits_in_words, 0, 2);
    tcase_add_loop_test(tc, allocation_in_words, 0, 2);
    tcase_add_test(tc, a_release_is_known_for_its_jvms);
    tcase_add_test(tc, a_release_has_a_note);
    tcase_add_test(tc, a_release_takes_the_place_of_jvms);
    tcase_add_test(tc, answers_what_was_compared);
    tcase_add_test(tc, tells_that_a_release_changed_nothing);
    tcase_add_test(tc, too_few_minutes_have_no_figure);
    tcase_add_test(tc, a_crowd_of_services_leaves_room_for_others);
    tcase_add_test(tc, a_crowd_of_marks_hides_no_later_release);
    tcase_set_timeout(tc, 60);
    return run_store_tests("deploys", tc);
}
