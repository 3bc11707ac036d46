/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function_metrics [--check]: the cost of 1,000 functions of 20 services in /metrics, in CPU time:
 * of adding up a minute, and of a scrape. With --check it fails if a scrape takes a millisecond.
 */
#include "api/api_impl.h"
#include "profile/service_counters.h"

#include <time.h>

#define SERVICES 20
#define FUNCTIONS 1000 /* per service; SERVICE_COUNTERS_HEAVIEST of them have a series */
#define ROUNDS 500
#define SCRAPE_MAX_NS (1 * NSEC_PER_MSEC)

static uint64_t cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void must(int r)
{
    if (r < 0)
        exit(2);
}

static uint32_t text(struct frame_table *t, const char *format, unsigned number)
{
    char s[96];
    uint32_t id = 0;

    snprintf(s, sizeof(s), "%s%u", format, number);
    must(frame_table_string(t, span_of(s), &id));
    return id;
}

static uint32_t add_service(struct frame_table *t, struct record *r, unsigned number)
{
    struct profile_process process = { .host_pid = (int32_t)number + 1,
                                       .service = text(t, "service-", number) };
    struct profile_thread thread = { .host_tid = (int32_t)number + 1 };
    uint32_t id = 0;

    must(record_process(r, &process, &thread.process));
    must(record_thread(r, &thread, &id));
    return id;
}

static void add_function(struct frame_table *t, struct record *r, uint32_t thread, unsigned number)
{
    struct function function = { .class_name =
                                     text(t, "com.acme.shop.checkout.CheckoutService", number / 10),
                                 .name = text(t, "method", number) };
    struct frame frame = { .kind = FRAME_C2 };
    struct profile_sample s = { .thread = thread, .count = FUNCTIONS - number };
    uint32_t id = 0;

    must(frame_table_function(t, &function, &frame.function));
    must(frame_table_frame(t, &frame, &id));
    must(record_sample(r, &s, &id, 1));
}

static struct profile *minute_of(struct frame_table *t, struct record *r)
{
    const struct profile meta = {
        .events = { { .name = "cpu", .unit = "nanoseconds", .period = 52631578 } }, .event_count = 1
    };
    struct profile *p = NULL;

    for (unsigned i = 0; i < SERVICES; i++) {
        uint32_t thread = add_service(t, r, i);

        for (unsigned k = 0; k < FUNCTIONS; k++)
            add_function(t, r, thread, k);
    }
    must(record_finish(r, &meta, &p));
    return p;
}

int main(int argc, char **argv)
{
    const struct service_counters_opts o = { .heaviest = SERVICE_COUNTERS_HEAVIEST };
    struct engine_opts engine = { .external_url = "https://node-7.example:7979" };
    struct api *api = calloc(1, sizeof(*api));
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p;
    struct buf out;
    uint64_t begin_ns, minute_ns, scrape_ns;
    size_t lines = 0;

    must(api ? service_counters_new(&o, &engine.counters) : -ENOMEM);
    must(frame_table_new(SERVICES * FUNCTIONS, (size_t)64 << 20, &t));
    must(record_new(t, SERVICES * FUNCTIONS, &r));
    p = minute_of(t, r);
    begin_ns = cpu_ns();
    service_counters_add(engine.counters, UINT64_C(1790000040) * NSEC_PER_SEC, &p, 1);
    minute_ns = cpu_ns() - begin_ns;
    api->engine.opts = &engine;
    buf_init(&out, (size_t)64 << 20);
    begin_ns = cpu_ns();
    for (unsigned i = 0; i < ROUNDS; i++) {
        buf_clear(&out);
        service_metrics(api, &VIEWER_WHOLE, /* exemplars= */ true, &out);
    }
    scrape_ns = (cpu_ns() - begin_ns) / ROUNDS;
    for (size_t i = 0; i < out.n; i++)
        lines += out.p[i] == '\n';
    printf("a minute of %u samples: %.2f ms; a scrape of %zu lines: %.3f ms\n",
           SERVICES * FUNCTIONS, (double)minute_ns / NSEC_PER_MSEC, lines,
           (double)scrape_ns / NSEC_PER_MSEC);
    buf_deinit(&out);
    profile_unref(p);
    record_free(r);
    frame_table_free(t);
    service_counters_free(engine.counters);
    free(api);
    return argc > 1 && strcmp(argv[1], "--check") == 0 && scrape_ns > SCRAPE_MAX_NS;
}
