/* SPDX-License-Identifier: Apache-2.0 */
/* Minutes of services for their counters, and the lines that a user gets of these. */
#pragma once

#include "profile/heavy_names.h"
#include "profile/service_counters.h"

#include "recorded.h"
#include "suite.h"

#define CPU_NS 1000
#define LINES_MAX 4096

/* ---- minutes ---- */

static const struct profile MINUTE = {
    .events = { { .name = "cpu", .unit = "nanoseconds", .period = CPU_NS },
                { .name = "lock", .unit = "nanoseconds", .period = 1, .valued = true } },
    .event_count = 2,
};

#define FIRST_NS (UINT64_C(1790000040) * NSEC_PER_SEC)

static uint64_t minute_ns = FIRST_NS; /* when the next minute begins */

static uint64_t payer; /* of the next processes */
static bool forges;    /* each has another container's id */

static inline uint32_t thread_of(const char *service, uint32_t owner, const char *pod_namespace)
{
    struct profile_process p = { .host_pid = 42, .owner = owner };
    struct profile_thread t = { .host_tid = 43 };
    uint32_t id;

    p.service = recorded_string(service);
    p.pod_namespace = recorded_string(pod_namespace);
    p.payer = payer;
    p.container = forges ? p.service : 0;
    p.start_ticks = (uint64_t)p.service << 32 | p.pod_namespace << 16 | owner;
    ck_assert_int_eq(record_process(rec, &p, &t.process), 0);
    ck_assert_int_eq(record_thread(rec, &t, &id), 0);
    return id;
}

/* Adds @n samples of a stack, leaf first. */
static inline void ran(uint32_t thread, uint32_t n, const uint32_t *stack, size_t depth)
{
    struct profile_sample s = { .thread = thread, .count = n };

    ck_assert_int_eq(record_sample(rec, &s, stack, depth), 0);
}

static inline void ran_in(uint32_t thread, uint32_t n, const char *method)
{
    uint32_t frame = recorded_frame("shop.Cart", method, FRAME_C2, 0);

    ran(thread, n, &frame, 1);
}

static inline void waited(uint32_t thread, uint64_t ns, const uint32_t *stack, size_t depth)
{
    struct profile_sample s = { .thread = thread, .count = 1, .event = 1, .value = ns };

    ck_assert_int_eq(record_sample(rec, &s, stack, depth), 0);
}

/* Adds the record of the last minute. */
static inline void minute(struct service_counters *c)
{
    struct profile *p = NULL;

    ck_assert_int_eq(record_finish(rec, &MINUTE, &p), 0);
    service_counters_add(c, minute_ns, &p, 1);
    profile_unref(p);
    record_free(rec);
    ck_assert_int_eq(record_new(table, LINES_MAX, &rec), 0);
}

static inline struct service_counters *counters_of(size_t heaviest, const char *pattern)
{
    struct service_counters_opts o = { .heaviest = heaviest };
    struct service_counters *c = NULL;

    if (pattern)
        ck_assert_int_eq(match_new(&pattern, 1, "metrics_functions", &o.chosen, NULL), 0);
    ck_assert_int_eq(service_counters_new(&o, &c), 0);
    return c;
}

/* ---- reports ---- */

struct told {
    uint32_t owner; /* the viewer; UINT32_MAX: sees all */
    const char *pod_namespace;
    struct buf text;
    size_t lines;
    uint64_t sum;
};

static inline bool sees(void *cookie, uint32_t owner, const char *pod_namespace)
{
    const struct told *t = cookie;

    return (t->owner == UINT32_MAX || t->owner == owner) &&
           (!t->pod_namespace || strcmp(t->pod_namespace, pod_namespace) == 0);
}

static inline void line(void *cookie, const struct service_counter_line *l)
{
    struct told *t = cookie;

    buf_printf(&t->text, "%s/%s %s %llu\n", l->pod_namespace, l->service, l->name,
               (unsigned long long)(l->ns / CPU_NS));
    t->lines++;
    t->sum += l->ns / CPU_NS;
}

static struct told told;

static inline const char *tell_to(struct service_counters *c, enum service_counter kind,
                                  uint32_t owner, const char *pod_namespace)
{
    buf_deinit(&told.text);
    told = (struct told){ .owner = owner, .pod_namespace = pod_namespace };
    buf_init(&told.text, 1 << 20);
    buf_add_str(&told.text, "");
    service_counters_each(c, &(struct service_counters_query){
                                 .kind = kind, .sees = sees, .line = line, .cookie = &told });
    return told.text.p;
}

static inline const char *tell(struct service_counters *c, enum service_counter kind)
{
    return tell_to(c, kind, UINT32_MAX, NULL);
}

static inline void teardown(void)
{
    buf_deinit(&told.text);
    told = (struct told){ 0 };
    minute_ns = FIRST_NS;
    recorded_teardown();
}

static inline void setup(void)
{
    recorded_setup_for(/* entries= */ 20000, LINES_MAX);
}
