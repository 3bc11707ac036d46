/* SPDX-License-Identifier: Apache-2.0 */
/* A history in a folder of its own, and minutes for it. For test_history*.c. */
#pragma once

#include "base/fnv1a.h"
#include "store/history.h"
#include "store_fixture.h"

#define DAY_NS (UINT64_C(24) * 3600 * NSEC_PER_SEC)
#define T0 (UINT64_C(1790000000) / 86400 * 86400 * NSEC_PER_SEC) /* midnight of some day */

static inline struct history *open_history(uint64_t max_bytes, uint64_t max_age_s)
{
    struct history_opts o = {
        .dir = dir, .dir_fd = -1, .max_bytes = max_bytes, .max_age_s = max_age_s
    };
    struct history *h = NULL;

    ck_assert_int_eq(history_open(&o, &h, NULL), 0);
    return h;
}

/* Of the JVMs in made-up slices. */
static uint32_t made_exec_no __attribute__((unused));

/* Time between two samples of CPU time in made-up slices. */
static uint64_t made_period_ns __attribute__((unused)) = 1000;

/* A JVM of a service in made-up slices. */
struct made_jvm {
    int32_t pid;
    uint32_t owner;
    const char *service; /* NULL: not a JVM */
    const char *leaf;
    unsigned samples;      /* in each slice */
    const char *operation; /* of every other sample; NULL: requests were not read */
};

#define MADE_EVENTS                                                                                \
    {                                                                                              \
        { .name = "cpu", .unit = "nanoseconds", .period = 1000 },                                  \
        {                                                                                          \
            .name = "offcpu", .unit = "nanoseconds", .period = 1000, .valued = true                \
        }                                                                                          \
    }

/* Returns the request of sample number @i. Every other one has none. */
static inline uint32_t made_request(struct record *r, uint32_t thread, unsigned i,
                                    const char *operation)
{
    struct profile_context c = { .state = PROFILE_CONTEXT_NO_REQUEST };
    uint32_t id = 0;

    if (i % 2 == 0)
        c = (struct profile_context){
            .trace_low = i + 1,
            .root = fnv1a(FNV1A_START, operation, strlen(operation)),
            .state = PROFILE_CONTEXT_NAMED,
        };
    ck_assert_int_eq(record_context(r, thread, &c, i % 2 ? SPAN_NULL : span_of(operation), 0, &id),
                     0);
    return id;
}

/* Makes a slice of @jvms that begins at @start_ns. Half of the samples are waits with values. */
static inline struct profile *make_slice(uint64_t start_ns, const struct made_jvm *jvms,
                                         size_t count)
{
    struct profile meta = { .events = MADE_EVENTS,
                            .event_count = 2,
                            .start_ns = start_ns,
                            .start_realtime_ns = start_ns,
                            .end_ns = start_ns + 10 * NSEC_PER_SEC };
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p = NULL;

    meta.events[0].period = made_period_ns;
    ck_assert_int_eq(frame_table_new(10000, 1 << 20, &t), 0);
    ck_assert_int_eq(record_new(t, 1000000, &r), 0);
    for (size_t j = 0; j < count; j++) {
        struct profile_process process = { .host_pid = jvms[j].pid,
                                           .start_ticks = 7,
                                           .exec_no = made_exec_no,
                                           .owner = jvms[j].owner };
        struct profile_thread thread = { 0 };
        uint32_t tids[4], stack[2] = { frame_of(t, "a.b.Main", jvms[j].leaf, 12),
                                       frame_of(t, "java.lang.Thread", "run", 840) };

        frame_table_set_route(t, frame_table_get(t, stack[0])->function, str(t, "GET /leaf"));
        process.name = str(t, jvms[j].service ? "Main" : "cc1");
        if (jvms[j].service)
            process.service = str(t, jvms[j].service);
        ck_assert_int_eq(record_process(r, &process, &thread.process), 0);
        for (int i = 0; i < 4; i++) {
            char name[32];

            snprintf(name, sizeof(name), i < 3 ? "exec-%d" : "main", i);
            thread.host_tid = jvms[j].pid * 10 + i;
            thread.name = str(t, name);
            ck_assert_int_eq(record_thread(r, &thread, &tids[i]), 0);
        }
        for (unsigned i = 0; i < jvms[j].samples; i++) {
            struct profile_sample s = { .time_ns = start_ns + i,
                                        .thread = tids[i % 4],
                                        .count = 1 + i % 2,
                                        .event = i % 2,
                                        .value = i % 2 ? 5000 + i : 0,
                                        .flags = (uint16_t)(i % 2 ? 3 << 2 : 0x10) };

            if (jvms[j].operation)
                s.context = made_request(r, s.thread, i, jvms[j].operation);
            ck_assert_int_eq(record_sample(r, &s, stack + i % 2, 2 - i % 2), 0);
        }
    }
    ck_assert_int_eq(record_finish(r, &meta, &p), 0);
    record_free(r);
    frame_table_free(t);
    return p;
}

/* Puts a minute of two slices. Returns the result of history_put(). */
static inline int put_minute(struct history *h, uint64_t start_ns, const struct made_jvm *jvms,
                             size_t count)
{
    struct profile *slices[2] = { make_slice(start_ns, jvms, count),
                                  make_slice(start_ns + 10 * NSEC_PER_SEC, jvms, count) };
    struct history_minute m = { .start_ns = start_ns,
                                .end_ns = start_ns + HISTORY_MINUTE_NS,
                                .slices = slices,
                                .slice_count = 2 };
    int r = history_put(h, &m, NULL);

    profile_unref(slices[0]);
    profile_unref(slices[1]);
    return r;
}

/* The image of a JVM without other texts than its @service. */
static inline struct history_image made_image(int32_t pid, const char *service)
{
    return (struct history_image){ .host_pid = pid,
                                   .start_ticks = 7,
                                   .owner = 1000,
                                   .name = "Main",
                                   .container = "",
                                   .pod = "",
                                   .pod_namespace = "",
                                   .service = service,
                                   .version = "",
                                   .environment = "",
                                   .java = "",
                                   .attributes = "" };
}

/* Puts a minute of @slice (NULL: none; taken) with @images. */
static inline void put_images(struct history *h, uint64_t start_ns, struct profile *slice,
                              struct history_image *images, size_t count)
{
    struct history_minute m = { .start_ns = start_ns,
                                .end_ns = start_ns + HISTORY_MINUTE_NS,
                                .slices = &slice,
                                .slice_count = slice ? 1 : 0,
                                .images = images,
                                .image_count = count };

    ck_assert_int_eq(history_put(h, &m, NULL), 0);
    profile_unref(slice);
}

/* Sums over the samples read. */
struct read_sums {
    uint64_t count[2], value[2]; /* by event: cpu, offcpu */
    size_t profiles;
    int32_t pid;    /* of this process only; 0: of all */
    uint64_t first; /* time of the earliest sample */
    char leaf[32];  /* leaf of the last sample with a class */
};

static inline int read_sum(void *cookie, struct profile *p)
{
    struct read_sums *sums = cookie;

    sums->profiles++;
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        bool waits = strcmp(p->events[s->event].name, "offcpu") == 0;

        if (sums->pid && p->processes[p->threads[s->thread].process].host_pid != sums->pid)
            continue;
        sums->count[waits] += s->count;
        sums->value[waits] += waits ? s->value : 0;
        if (!sums->first || s->time_ns < sums->first)
            sums->first = s->time_ns;
    }
    return 0;
}

static inline struct history_reach read_range(struct history *h, uint64_t from_ns, uint64_t to_ns,
                                              uint64_t coarsest_ns, struct read_sums *sums)
{
    struct history_query q = { .from_ns = from_ns, .to_ns = to_ns, .coarsest_ns = coarsest_ns };
    struct history_reach reach;

    ck_assert_int_eq(history_read(h, &q, read_sum, sums, &reach, NULL), 0);
    return reach;
}
