/* SPDX-License-Identifier: Apache-2.0 */
/* push: minutes by service, their budget, and bodies below an engine's limits. */
#include "suite.h"

#include "push/export.h"

#include <zlib.h>

#define PERIOD UINT64_C(10000000)

static struct frame_table *table;
static struct record *rec;
#define NOW_NS (UINT64_C(1790000000) * NSEC_PER_SEC)

static struct series series;
static uint32_t shop, shop_restarted, shop_next, cron;

static uint32_t str(const char *s)
{
    uint32_t id;

    ck_assert_int_eq(frame_table_string(table, span_of(s), &id), 0);
    return id;
}

static const char *container; /* of the next process; NULL: none */
static uint64_t payer;        /* of the next process */

/* Adds a thread of a process. @service NULL: the process is no JVM. */
static uint32_t thread_of(int32_t pid, const char *service, const char *version,
                          const char *attributes)
{
    struct profile_process p = { .host_pid = pid, .name = str("Main"), .payer = payer };
    struct profile_thread t = { .host_tid = pid };
    uint32_t id;

    if (service)
        p.service = str(service);
    if (container)
        p.container = str(container);
    p.version = str(version);
    p.attributes = str(attributes);
    ck_assert_int_eq(record_process(rec, &p, &t.process), 0);
    ck_assert_int_eq(record_thread(rec, &t, &id), 0);
    return id;
}

static void setup(void)
{
    series_init(&series);
    container = NULL;
    payer = 1;
    ck_assert_int_eq(frame_table_new(100000, 1 << 24, &table), 0);
    ck_assert_int_eq(record_new(table, 1000000, &rec), 0);
    shop = thread_of(1, "shop", "1", "service.namespace=a\nk8s.pod.uid=x\nservice.instance.id=1\n");
    shop_restarted =
        thread_of(2, "shop", "1", "service.namespace=a\nk8s.pod.uid=y\nservice.instance.id=2\n");
    shop_next = thread_of(3, "shop", "2", "service.namespace=a\n");
    cron = thread_of(4, NULL, "", "");
}

static void teardown(void)
{
    record_free(rec);
    frame_table_free(table);
}

static void add(uint32_t thread, const char *leaf, uint32_t count)
{
    struct function fn = { .class_name = str("com.acme.Class"), .name = str(leaf) };
    struct frame f = { .kind = FRAME_C2 };
    struct profile_sample s = { .time_ns = 5, .thread = thread, .count = count };
    uint32_t frame;

    ck_assert_int_eq(frame_table_function(table, &fn, &f.function), 0);
    ck_assert_int_eq(frame_table_frame(table, &f, &frame), 0);
    ck_assert_int_eq(record_sample(rec, &s, &frame, 1), 0);
}

static struct profile *finished(void)
{
    struct profile meta = { .event_count = 1, .start_ns = 1, .end_ns = 100 };
    struct profile *p;

    meta.events[0] =
        (struct profile_event){ .name = "cpu", .unit = "nanoseconds", .period = PERIOD };
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    return p;
}

static struct fold *folded(size_t budget)
{
    struct profile *p = finished();
    struct fold *f;

    ck_assert_int_eq(fold_new(p, budget, &series, NOW_NS, &f), 0);
    profile_unref(p);
    return f;
}

static uint64_t samples_of(const struct fold *f, uint32_t group)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < f->count; i++) {
        ck_assert_uint_eq(f->rows[i].value, f->rows[i].samples * PERIOD);
        sum += f->rows[i].group == group ? f->rows[i].samples : 0;
    }
    return sum;
}

START_TEST(folds_by_service)
{
    struct fold *f;
    struct profile *p;

    add(shop, "a", 3);
    add(shop_restarted, "a", 4);
    add(shop_restarted, "b", 1);
    add(shop_next, "a", 10);
    add(cron, "c", 100);
    f = folded(100);
    ck_assert_uint_eq(f->group_count, 2); /* a restart is the same group, another version is not */
    ck_assert_uint_eq(f->count, 3);
    ck_assert_uint_eq(f->rows[0].samples, 7);
    ck_assert_uint_eq(samples_of(f, 0), 8);
    ck_assert_uint_eq(samples_of(f, 1), 10);
    ck_assert_uint_eq(f->other_samples, 0);
    ck_assert_str_eq(f->attributes[0], "service.namespace=a\n");
    ck_assert_int_eq(fold_profile(f, 0, f->count, UINT32_MAX, &p), 0);
    ck_assert_uint_eq(p->process_count, 2);
    ck_assert_uint_eq(p->total, 18);
    ck_assert_int_eq(p->processes[0].host_pid, 0);
    ck_assert(span_eq_str(intern_get(p->strings, p->processes[1].version), "2"));
    profile_unref(p);
    fold_free(f);
}
END_TEST

START_TEST(keeps_the_heaviest_and_the_sum)
{
    struct fold *f;
    struct profile *p;
    char name[16];

    for (uint32_t i = 1; i <= 100; i++) {
        snprintf(name, sizeof(name), "m%u", i);
        add(shop, name, i);
        add(shop_next, name, 101 - i);
    }
    f = folded(10);
    ck_assert_uint_eq(f->count, 22);
    for (uint32_t g = 0; g < 2; g++) {
        ck_assert_uint_eq(samples_of(f, g), 5050);
        ck_assert_uint_eq(f->rows[11 * g].samples, 100);
        ck_assert_uint_eq(f->rows[11 * g + 9].samples, 91);
        ck_assert_uint_eq(f->rows[11 * g + 10].stack, FOLD_OTHER);
        ck_assert_uint_eq(f->rows[11 * g + 10].samples, 4095);
    }
    ck_assert_uint_eq(f->other_samples, 2 * 4095);
    ck_assert_int_eq(fold_profile(f, 0, 11, 0, &p), 0);
    ck_assert_uint_eq(p->total, 5050);
    ck_assert_uint_eq(p->process_count, 1);
    profile_unref(p);
    fold_free(f);
}
END_TEST

/* A container claims a service and forges an id for each of its JVMs. It gets half of the places;
 * its further services become one, and no sample is lost. Another container's service has its
 * place. */
START_TEST(bounds_services)
{
    struct fold *f;
    struct profile *p;
    char name[16];

    for (uint32_t i = 0; i < SERIES_MAX; i++) { /* without samples, they take no place */
        snprintf(name, sizeof(name), "idle%u", i);
        thread_of((int32_t)(20000 + i), name, "1", "");
    }
    for (uint32_t i = 0; i < SERIES_MAX + 50; i++) {
        snprintf(name, sizeof(name), "s%u", i);
        container = name;
        add(thread_of((int32_t)(10 + i), name, "1", ""), "a", 2);
    }
    container = "0123456789abcdef";
    payer = 2;
    add(thread_of(5000, "basket", "1", ""), "a", 7);
    f = folded(100);
    ck_assert_uint_eq(f->group_count, SERIES_MAX / 2 + 2);
    ck_assert_uint_eq(samples_of(f, f->group_count - 1), 7);
    ck_assert(span_eq_str(fold_service(f, (uint32_t)f->group_count - 1), "basket"));
    ck_assert(span_eq_str(fold_service(f, f->other_services), "[other services]"));
    ck_assert(span_eq_str(fold_service(f, 0), "s0"));
    ck_assert_uint_eq(f->other_samples, 2 * (SERIES_MAX / 2 + 50));
    ck_assert_uint_eq(samples_of(f, f->other_services), f->other_samples);
    ck_assert_int_eq(fold_profile(f, 0, f->count, UINT32_MAX, &p), 0);
    ck_assert_uint_eq(p->total, 2 * (SERIES_MAX + 50) + 7);
    profile_unref(p);
    fold_free(f);
}
END_TEST

/* One container claims another service every 10 s, another keeps its one. */
START_TEST(bounds_services_over_time)
{
    const uint64_t attacker = 1, other = 2;
    uint64_t now_ns = NOW_NS;
    unsigned admitted = 0;
    char name[16];

    for (unsigned i = 0; i < 2 * 360; i++, now_ns += 10 * NSEC_PER_SEC) {
        snprintf(name, sizeof(name), "s%u", i);
        admitted += series_admit(&series, attacker, span_of(name), now_ns);
        ck_assert(series_admit(&series, other, SPAN("shop"), now_ns));
        ck_assert_uint_le(series.count, SERIES_MAX / 2 + 1);
    }
    ck_assert_uint_ge(admitted, 360);
    for (unsigned i = 0; i < SERIES_MAX; i++) { /* all at once */
        snprintf(name, sizeof(name), "t%u", i);
        admitted += series_admit(&series, attacker, span_of(name), now_ns);
    }
    ck_assert_uint_le(series.count, SERIES_MAX / 2 + 1);
    ck_assert(!series_admit(&series, attacker, SPAN("another"), now_ns));
    ck_assert(series_admit(&series, attacker, SPAN("t0"), now_ns));
    ck_assert(series_admit(&series, other, SPAN("basket"), now_ns));
    now_ns += SERIES_KEPT_NS + 1;
    ck_assert(series_admit(&series, attacker, SPAN("another"), now_ns));
    ck_assert_uint_eq(series.count, 1);
    ck_assert(series_admit(&series, other, SPAN("shop"), NOW_NS)); /* the clock was set back */
    ck_assert_uint_eq(series.count, 1);
}
END_TEST

/* A profile of a few rows has only their frames, and [other]. */
START_TEST(copies_frames_of_its_rows)
{
    struct fold *f;
    struct profile *p;
    char name[16];

    for (uint32_t i = 1; i <= 100; i++) {
        snprintf(name, sizeof(name), "m%u", i);
        add(shop, name, i);
    }
    f = folded(1000);
    ck_assert_int_eq(fold_profile(f, 0, 3, 0, &p), 0);
    ck_assert_uint_eq(p->total, 100 + 99 + 98);
    ck_assert_uint_le(p->frame_count, 3 + 2);
    profile_unref(p);
    fold_free(f);
}
END_TEST

/* ---- bodies ---- */

static size_t bodies, largest;

/* Returns the length of @body after decompression. */
static size_t unpacked(struct span body)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)body.p, .avail_in = (uInt)body.n };
    char piece[4096];
    int r;

    ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
    do {
        z.next_out = (Bytef *)piece;
        z.avail_out = sizeof(piece);
        r = inflate(&z, Z_NO_FLUSH);
    } while (r == Z_OK);
    ck_assert_int_eq(r, Z_STREAM_END);
    inflateEnd(&z);
    return z.total_out;
}

static int take_body(void *cookie, struct span body)
{
    const struct export_opts *o = cookie;
    size_t n = EXPORT_REQUESTS[o->protocol].gzip ? unpacked(body) : body.n;

    ck_assert_uint_gt(n, 0);
    bodies++;
    largest = MAX(largest, n);
    return 0;
}

START_TEST(splits_below_the_limit)
{
    static const size_t LIMITS[] = { 0, 100000, 20000, 4000 };
    struct export_opts o = { .protocol = _i % 2 ? PUSH_PYROSCOPE : PUSH_OTLP,
                             .host = "node",
                             .version = "1",
                             .link = "https://node/profile?from=a&to=b",
                             .bytes_max = LIMITS[_i / 2] };
    struct export_counts counts;
    struct fold *f;
    char name[64];

    for (uint32_t i = 1; i <= 1000; i++) {
        snprintf(name, sizeof(name), "method%u%08x%08x%08x", i, i * 2654435761u, i * 40503u * i,
                 ~i * 2246822519u); /* compresses badly */
        add(i % 3 ? shop : shop_next, name, i);
    }
    f = folded(2000);
    bodies = largest = 0;
    ck_assert_int_eq(export_fold(f, &o, take_body, &o, &counts), 0);
    ck_assert_uint_eq(counts.bodies, bodies);
    ck_assert_uint_eq(counts.samples, 500500);
    ck_assert_uint_eq(counts.dropped, 0);
    ck_assert_uint_le(largest, o.bytes_max ? o.bytes_max : EXPORT_BYTES_MAX);
    if (!o.bytes_max)
        ck_assert_uint_eq(bodies, 1);
    if (o.bytes_max == 4000)
        ck_assert_uint_gt(bodies, 10);
    fold_free(f);
}
END_TEST

START_TEST(drops_and_counts_what_is_too_large)
{
    struct export_opts o = { .protocol = PUSH_OTLP, .host = "", .link = "", .bytes_max = 700 };
    static char name[2000];
    struct export_counts counts;
    struct fold *f;

    memset(name, 'x', sizeof(name) - 1);
    add(shop, name, 7);
    add(shop, "small", 2);
    f = folded(100);
    bodies = 0;
    ck_assert_int_eq(export_fold(f, &o, take_body, &o, &counts), 0);
    ck_assert_uint_eq(counts.dropped, 7);
    ck_assert_uint_eq(counts.samples, 2);
    ck_assert_uint_eq(bodies, 1);
    fold_free(f);
}
END_TEST

#define DEEP 1000 /* frames of a stack */
#define DEEP_STACKS 36

/* Adds a stack of frames that each have a long name of their own. */
static void add_deep(uint32_t thread)
{
    static char name[2000];
    static uint32_t frames[DEEP], last;
    struct profile_sample s = { .time_ns = 5, .thread = thread, .count = 1 };

    memset(name, 'x', sizeof(name) - 1);
    for (size_t i = 0; i < DEEP; i++) {
        struct function fn = { 0 };
        struct frame f = { .kind = FRAME_C2 };

        name[snprintf(name, 16, "m%u", ++last)] = 'x';
        fn.name = str(name);
        ck_assert_int_eq(frame_table_function(table, &fn, &f.function), 0);
        ck_assert_int_eq(frame_table_frame(table, &f, &frames[i]), 0);
    }
    ck_assert_int_eq(record_sample(rec, &s, frames, DEEP), 0);
}

/* A message has 64 MiB of names at most. With more of them it is split, not lost. */
START_TEST(names_that_do_not_fit_are_too_large)
{
    struct profile *p = NULL;
    struct fold *f;

    teardown();
    ck_assert_int_eq(frame_table_new(100000, 80 << 20, &table), 0);
    ck_assert_int_eq(record_new(table, 1000000, &rec), 0);
    shop = thread_of(1, "shop", "1", "");
    for (int i = 0; i < DEEP_STACKS; i++)
        add_deep(shop);
    f = folded(2000);
    ck_assert_int_eq(fold_profile(f, 0, f->count, UINT32_MAX, &p), -EFBIG);
    ck_assert_int_eq(fold_profile(f, 0, f->count / 2, UINT32_MAX, &p), 0);
    profile_unref(p);
    fold_free(f);
}
END_TEST

START_TEST(sends_nothing_of_nothing)
{
    struct export_opts o = { .protocol = PUSH_OTLP, .host = "", .link = "" };
    struct export_counts counts;
    struct fold *f;

    add(cron, "c", 100);
    f = folded(100);
    bodies = 0;
    ck_assert_int_eq(export_fold(f, &o, take_body, &o, &counts), 0);
    ck_assert_uint_eq(bodies, 0);
    fold_free(f);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_fold");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, folds_by_service);
    tcase_add_test(tc, keeps_the_heaviest_and_the_sum);
    tcase_add_test(tc, bounds_services);
    tcase_add_test(tc, bounds_services_over_time);
    tcase_add_test(tc, copies_frames_of_its_rows);
    tcase_add_loop_test(tc, splits_below_the_limit, 0, 8);
    tcase_add_test(tc, drops_and_counts_what_is_too_large);
    tcase_add_test(tc, names_that_do_not_fit_are_too_large);
    tcase_add_test(tc, sends_nothing_of_nothing);
    return suite_run_case("push_fold", tc);
}
