/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a history: JVMS services that have run for MINUTES up to now, each with STACKS stacks of
 * DEPTH frames, some of which occur in each minute. Prints its size in bytes, and the time for
 * writing a minute. */
#include "base/clock.h"
#include "profile/profile.h"
#include "store/history.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENTS                                                                                     \
    {                                                                                              \
        { .name = "cpu", .unit = "nanoseconds", .period = NSEC_PER_SEC / 19 },                     \
        {                                                                                          \
            .name = "offcpu", .unit = "nanoseconds", .period = NSEC_PER_SEC, .valued = true        \
        }                                                                                          \
    }
#define SAMPLES 300 /* of a JVM in a minute: a third of them CPU time */
#define DEPTH_MAX 200u

struct load {
    unsigned jvms, stacks, depth;
    uint32_t *frames; /* [jvms][stacks][depth], leaf first */
};

static uint32_t text(struct frame_table *t, const char *fmt, unsigned a, unsigned b)
{
    char buf[64];
    uint32_t id = 0;

    snprintf(buf, sizeof(buf), fmt, a, b);
    frame_table_string(t, (struct span){ buf, strlen(buf) }, &id);
    return id;
}

/* Writes stack @n of JVM @jvm: it shares its outer half with its neighbours. */
static void write_stack(struct frame_table *t, const struct load *l, unsigned jvm, unsigned n,
                        uint32_t *ret)
{
    for (unsigned i = 0; i < l->depth; i++) {
        unsigned which = i < l->depth / 2 ? n : n / 16;
        struct function f = { .name = text(t, "method%u_%u", which, i),
                              .class_name = text(t, "org.shop%u.part%u.Service", jvm, which % 50) };
        struct frame frame = { .kind = FRAME_C2, .line = 10 + i };

        frame_table_function(t, &f, &frame.function);
        frame_table_frame(t, &frame, &ret[i]);
    }
}

static void add_jvm(struct frame_table *t, struct record *r, const struct load *l, unsigned jvm,
                    uint64_t start_ns)
{
    struct profile_process process = { .host_pid = 1000 + (int32_t)jvm,
                                       .start_ticks = 7,
                                       .name = text(t, "Main%u", jvm, 0),
                                       .service = text(t, "shop%u", jvm, 0) };
    uint32_t tids[8];
    struct profile_thread thread = { 0 };

    record_process(r, &process, &thread.process);
    for (unsigned i = 0; i < 8; i++) {
        thread.host_tid = process.host_pid * 10 + (int32_t)i;
        thread.name = text(t, "pool%u-%u", i % 4, i);
        record_thread(r, &thread, &tids[i]);
    }
    for (unsigned i = 0; i < SAMPLES; i++) {
        unsigned n =
            (unsigned)random() % l->stacks * ((unsigned)random() % 100) / 100; /* some often */
        bool waits = i % 3 != 0;
        struct profile_sample s = { .time_ns = start_ns + i,
                                    .thread = tids[n % 8],
                                    .count = 1,
                                    .event = waits,
                                    .value = waits ? NSEC_PER_SEC : 0,
                                    .flags =
                                        (uint16_t)(waits ? 3 << PROFILE_SAMPLE_STATE_SHIFT : 0) };

        record_sample(r, &s, l->frames + ((size_t)jvm * l->stacks + n) * l->depth, l->depth);
    }
}

static struct profile *make_minute(struct frame_table *t, const struct load *l, uint64_t start_ns)
{
    struct profile meta = { .events = EVENTS,
                            .event_count = 2,
                            .start_ns = start_ns,
                            .start_realtime_ns = start_ns,
                            .end_ns = start_ns + HISTORY_MINUTE_NS };
    struct profile *p = NULL;
    struct record *r = NULL;

    if (record_new(t, 10000000, &r) < 0)
        return NULL;
    for (unsigned i = 0; i < l->jvms; i++)
        add_jvm(t, r, l, i, start_ns);
    record_finish(r, &meta, &p);
    record_free(r);
    return p;
}

static int write_minutes(struct history *h, const struct load *l, unsigned minutes)
{
    uint64_t end_ns = clock_realtime_ns() / HISTORY_MINUTE_NS * HISTORY_MINUTE_NS, took_ns = 0;
    struct frame_table *t = NULL;
    struct history_stats stats;
    int r = frame_table_new(1 << 22, 1 << 28, &t);

    for (unsigned i = 0; i < l->jvms * l->stacks && r == 0; i++)
        write_stack(t, l, i / l->stacks, i % l->stacks, l->frames + (size_t)i * l->depth);
    for (unsigned i = 0; i < minutes && r == 0; i++) {
        uint64_t start_ns = end_ns - (minutes - i) * HISTORY_MINUTE_NS, began_ns;
        struct profile *p = make_minute(t, l, start_ns);
        const struct history_minute m = { .start_ns = start_ns,
                                          .end_ns = start_ns + HISTORY_MINUTE_NS,
                                          .slices = &p,
                                          .slice_count = 1 };

        if (!p)
            return -ENOMEM;
        began_ns = clock_monotonic_ns();
        r = history_put(h, &m, NULL);
        if (r == 0)
            r = history_roll(h, m.end_ns, NULL);
        took_ns += clock_monotonic_ns() - began_ns;
        profile_unref(p);
    }
    frame_table_free(t);
    history_stats(h, &stats);
    printf("%.1f MB, %.1f ms a minute\n", (double)stats.bytes / 1e6,
           (double)took_ns / 1e6 / minutes);
    return r;
}

int main(int argc, char **argv)
{
    struct history_opts o = { .dir_fd = -1, .max_bytes = UINT64_C(8) << 30, .max_age_s = 90000 };
    struct history *h = NULL;
    struct load l;
    unsigned minutes;

    if (argc != 6) {
        fprintf(stderr, "usage: history_store DIR JVMS MINUTES STACKS DEPTH\n");
        return 2;
    }
    o.dir = argv[1];
    l = (struct load){ .jvms = (unsigned)strtoul(argv[2], NULL, 10),
                       .stacks = MAX((unsigned)strtoul(argv[4], NULL, 10), 1U),
                       .depth = MIN((unsigned)strtoul(argv[5], NULL, 10), DEPTH_MAX) };
    minutes = (unsigned)strtoul(argv[3], NULL, 10);
    l.frames = calloc((size_t)l.jvms * l.stacks * l.depth, sizeof(*l.frames));
    if (!l.frames || history_open(&o, &h, NULL) < 0 || write_minutes(h, &l, minutes) < 0)
        return 1;
    history_close(h);
    free(l.frames);
    return 0;
}
