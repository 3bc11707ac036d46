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
    if (r->budget)
        r->budget->used_bytes -= r->charged_bytes;
    id_table_deinit(&r->nodes);
    id_table_deinit(&r->processes);
    id_table_deinit(&r->threads);
    free(r->samples);
    for (size_t i = 0; i < r->warning_count; i++)
        free(r->warnings[i]);
    free(r);
    return NULL;
}

/* ---- what it may take of a budget ---- */

static void record_charge(struct record *r)
{
    size_t bytes;

    if (!r->budget)
        return;
    bytes = record_bytes(r);
    r->budget->used_bytes += bytes - r->charged_bytes; /* wraps where it shrank: so does the sum */
    r->charged_bytes = bytes;
}

void record_set_budget(struct record *r, struct record_budget *b)
{
    r->budget = b;
    record_charge(r);
}

/* Whether @r may grow by @bytes. */
static bool record_affords(struct record *r, size_t bytes)
{
    struct record_budget *b = r->budget;

    if (!b || record_budget_has(b, bytes))
        return true;
    b->make_room(b->cookie, r, bytes);
    return record_budget_has(b, bytes);
}

/* By how much the table of stacks may grow when @n nodes are added; 0: they fit. */
static size_t record_nodes_growth(const struct record *r, size_t n)
{
    const struct id_table *t = &r->nodes;
    size_t bytes = 0;

    if (t->count + n > t->cap)
        bytes += (size_t)t->cap * t->size;
    if (t->count + n >= t->slot_count / 4 * 3)
        bytes += (size_t)t->slot_count * sizeof(*t->slots);
    return bytes;
}

/* Whether there is room for @n more nodes. */
static bool record_affords_nodes(struct record *r, size_t n)
{
    size_t bytes = record_nodes_growth(r, n);

    if (!r->budget || !bytes || record_bytes(r) < RECORD_SHRINK_MIN_BYTES ||
        record_affords(r, bytes))
        return true;
    while (record_sample_bytes(r) >= RECORD_SHRINK_MIN_BYTES &&
           !record_budget_has(r->budget, bytes))
        record_shrink(r);
    if (record_budget_has(r->budget, bytes))
        return true;
    r->budget->exhausted(r->budget->cookie);
    return false;
}

int record_process(struct record *r, const struct profile_process *p, uint32_t *ret)
{
    int k = id_table_add(&r->processes, p, ret);

    record_charge(r);
    return MIN(k, 0);
}

int record_thread(struct record *r, const struct profile_thread *t, uint32_t *ret)
{
    int k = id_table_add(&r->threads, t, ret);

    record_charge(r);
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

/* The next larger array: what is small doubles, what is large grows by a quarter. */
static size_t record_next_cap(const struct record *r)
{
    size_t more = r->sample_cap < RECORD_DOUBLES_MAX ? r->sample_cap : r->sample_cap / 4;

    return MIN(r->sample_cap + MAX(more, (size_t)1024), r->sample_max);
}

void record_shrink(struct record *r)
{
    struct profile_sample *samples;
    size_t cap;

    if (r->sample_count < 2)
        return;
    record_thin(r);
    r->starved = true;
    cap = r->sample_count + r->sample_count / 4; /* or its next sample would thin it again */
    samples = cap < r->sample_cap ? realloc(r->samples, cap * sizeof(*samples)) : NULL;
    if (samples) {
        r->samples = samples;
        r->sample_cap = cap;
    }
    record_charge(r);
}

static int record_reserve(struct record *r)
{
    struct profile_sample *samples;
    size_t cap;

    if (r->sample_count >= r->sample_max)
        record_thin(r);
    if (r->sample_count < r->sample_cap)
        return 0;
    cap = record_next_cap(r);
    if (r->sample_cap && !record_affords(r, (cap - r->sample_cap) * sizeof(*samples))) {
        if (record_sample_bytes(r) < RECORD_SHRINK_MIN_BYTES)
            r->budget->exhausted(r->budget->cookie);
        r->starved = true;
        record_thin(r); /* and so there is room in the array that there is */
        return 0;
    }
    samples = realloc(r->samples, cap * sizeof(*samples));
    if (!samples)
        return -ENOMEM;
    r->samples = samples;
    r->sample_cap = cap;
    record_charge(r);
    return 0;
}

static int record_stack(struct record *r, const uint32_t *stack, size_t n, uint32_t *ret)
{
    uint32_t node = 0, before = r->nodes.cap;
    int k = 0;

    if (!record_affords_nodes(r, n))
        return -ENOSPC;
    for (size_t i = n; i > 0 && k >= 0; i--) {
        struct record_node key = { node, stack[i - 1] };

        k = id_table_add(&r->nodes, &key, &node);
    }
    if (r->nodes.cap != before)
        record_charge(r);
    if (k < 0)
        return k;
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
        uint32_t sum = r->samples[r->sample_count - 1].count + count;
        bool takes_over = record_chance(r, count, sum);
        struct profile_sample *last;

        r->skip--;
        r->thinned++;
        takes_over = takes_over && record_stack(r, stack, n, &s.stack) == 0;
        last = &r->samples[r->sample_count - 1]; /* where it is now */
        if (takes_over)
            *last = s;
        last->count = takes_over ? sum : last->count + count;
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

size_t record_sample_bytes(const struct record *r)
{
    return r->sample_cap * sizeof(*r->samples);
}

size_t record_bytes(const struct record *r)
{
    return sizeof(*r) + id_table_bytes(&r->nodes) + id_table_bytes(&r->processes) +
           id_table_bytes(&r->threads) + r->sample_cap * sizeof(*r->samples);
}
