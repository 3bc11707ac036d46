/* SPDX-License-Identifier: Apache-2.0 */
/* A capture being taken: stacks as a tree of frame ids, samples that point into it. */
#include "profile/record_impl.h"

#include <stdarg.h>

int record_new(const struct frame_table *frames, size_t max_samples, struct record **ret)
{
    struct record *r = calloc(1, sizeof(*r));
    struct record_node root = { 0 };
    uint32_t id;

    if (!r)
        return -ENOMEM;
    r->table = frames;
    r->sample_max = MAX(max_samples, (size_t)2);
    r->keep_every = 1;
    id_table_init(&r->nodes, sizeof(struct record_node), RECORD_NODES_MAX);
    id_table_init(&r->processes, sizeof(struct profile_process), RECORD_THREADS_MAX);
    id_table_init(&r->threads, sizeof(struct profile_thread), RECORD_THREADS_MAX);
    if (id_table_add(&r->nodes, &root, &id) < 0) {
        record_free(r);
        return -ENOMEM;
    }
    *ret = r;
    return 0;
}

struct record *record_free(struct record *r)
{
    if (!r)
        return NULL;
    id_table_deinit(&r->nodes);
    id_table_deinit(&r->processes);
    id_table_deinit(&r->threads);
    free(r->samples);
    for (size_t i = 0; i < r->warning_count; i++)
        free(r->warnings[i]);
    free(r);
    return NULL;
}

int record_process(struct record *r, const struct profile_process *p, uint32_t *ret)
{
    int k = id_table_add(&r->processes, p, ret);

    return MIN(k, 0);
}

int record_thread(struct record *r, const struct profile_thread *t, uint32_t *ret)
{
    int k = id_table_add(&r->threads, t, ret);

    return MIN(k, 0);
}

/* True for @part out of @whole, by chance. */
static bool record_chance(struct record *r, uint32_t part, uint32_t whole)
{
    r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (r->random >> 33) * whole >> 31 < part;
}

/* Over the limit: of two samples one goes and gives its count to the other. Which one, chance says:
 * samples of two processors that tick in turns are in turns. */
static void record_thin(struct record *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->sample_count; i += 2) {
        struct profile_sample s = r->samples[i];

        if (i + 1 < r->sample_count) {
            struct profile_sample t = r->samples[i + 1];
            uint32_t count = s.count + t.count;

            if (record_chance(r, t.count, count))
                s = t;
            s.count = count;
        }
        r->samples[kept++] = s;
    }
    r->thinned += r->sample_count - kept;
    r->sample_count = kept;
    r->keep_every *= 2;
}

static int record_reserve(struct record *r)
{
    struct profile_sample *samples;
    size_t cap;

    if (r->sample_count >= r->sample_max)
        record_thin(r);
    if (r->sample_count < r->sample_cap)
        return 0;
    cap = MIN(r->sample_cap ? r->sample_cap * 2 : 1024, r->sample_max);
    samples = realloc(r->samples, cap * sizeof(*samples));
    if (!samples)
        return -ENOMEM;
    r->samples = samples;
    r->sample_cap = cap;
    return 0;
}

static int record_stack(struct record *r, const uint32_t *stack, size_t n, uint32_t *ret)
{
    uint32_t node = 0;

    for (size_t i = n; i > 0; i--) {
        struct record_node key = { node, stack[i - 1] };
        int k = id_table_add(&r->nodes, &key, &node);

        if (k < 0)
            return k;
    }
    *ret = node;
    return 0;
}

int record_sample(struct record *r, uint64_t time_ns, uint32_t thread, const uint32_t *stack,
                  size_t n, uint32_t count, uint8_t mode, uint16_t flags)
{
    struct profile_sample s = {
        .time_ns = time_ns, .thread = thread, .count = count, .mode = mode, .flags = flags
    };
    int k;

    r->counted += count;
    if (r->skip > 0 && r->sample_count > 0) {
        struct profile_sample *last = &r->samples[r->sample_count - 1];
        uint32_t sum = last->count + count;

        r->skip--;
        r->thinned++;
        if (record_chance(r, count, sum) && record_stack(r, stack, n, &s.stack) == 0)
            *last = s;
        last->count = sum;
        return 0;
    }
    k = record_stack(r, stack, n, &s.stack);
    if (k == 0)
        k = record_reserve(r);
    if (k < 0) {
        r->dropped += count;
        r->counted -= count;
        return k;
    }
    /* NOLINTNEXTLINE(clang-analyzer-*): no record is made for less than one sample */
    r->samples[r->sample_count++] = s;
    r->skip = r->keep_every - 1;
    return 0;
}

void record_drop(struct record *r, uint32_t count)
{
    r->dropped += count;
}

void record_warn(struct record *r, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    for (size_t i = 0; i < r->warning_count; i++) {
        if (strcmp(r->warnings[i], text) == 0) {
            free(text);
            return;
        }
    }
    if (r->warning_count < PROFILE_WARNINGS_MAX)
        r->warnings[r->warning_count++] = text;
    else
        free(text);
}

size_t record_samples(const struct record *r)
{
    return (size_t)r->counted;
}

size_t record_bytes(const struct record *r)
{
    return sizeof(*r) + id_table_bytes(&r->nodes) + id_table_bytes(&r->processes) +
           id_table_bytes(&r->threads) + r->sample_cap * sizeof(*r->samples);
}
