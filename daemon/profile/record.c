/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a running capture: stacks as a tree of frame ids, and samples that point into it.
 */
#include "profile/record_impl.h"

#include "base/fnv1a.h"
#include "base/memory_guard.h"
#include "base/text.h"

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
    id_table_init(&r->unwarned, sizeof(uint64_t), RECORD_UNWARNED_MAX);
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
        r->budget->used_bytes -= r->charged.bytes;
    id_table_deinit(&r->nodes);
    id_table_deinit(&r->processes);
    id_table_deinit(&r->threads);
    id_table_deinit(&r->unwarned);
    free(r->samples);
    free(r->moments);
    contexts_free(r->contexts);
    for (size_t i = 0; i < r->warning_count; i++)
        free(r->warnings[i]);
    free(r);
    return NULL;
}

void record_seal(struct record *r)
{
    id_table_seal(&r->nodes);
}

/* ---- the budget ---- */

static void record_charge(struct record *r)
{
    size_t bytes;

    if (!r->budget)
        return;
    bytes = record_bytes(r);
    r->budget->used_bytes += bytes - r->charged.bytes; /* the difference may wrap; so does the
                                                        * sum */
    r->charged.bytes = bytes;
}

void record_set_budget(struct record *r, struct record_budget *b)
{
    r->budget = b;
    record_charge(r);
}

const char *record_taken_text(size_t taken_bytes, char buf[RECORD_TAKEN_BYTES])
{
    buf[0] = '\0';
    if (taken_bytes)
        snprintf(buf, RECORD_TAKEN_BYTES, "; symbols, names and waiting samples take %zu MiB of it",
                 (taken_bytes + (1 << 20) - 1) >> 20);
    return buf;
}

/* Notes that @r is thinned because the budget is used up. */
static void record_starve(struct record *r)
{
    r->charged.starved = true;
    if (r->budget)
        r->charged.taken_bytes = MAX(r->charged.taken_bytes, r->budget->taken_bytes);
}

/* Returns whether @r may grow by @bytes, after making room in the budget. */
static bool record_affords(struct record *r, size_t bytes)
{
    struct record_budget *b = r->budget;

    if (!b || record_budget_has(b, bytes))
        return true;
    b->make_room(b->cookie, r, bytes);
    return record_budget_has(b, bytes);
}

bool record_beside(struct record *r, size_t bytes)
{
    if (r->charged.beside_bytes && !record_affords(r, bytes)) {
        r->budget->exhausted(r->budget->cookie);
        return false;
    }
    r->charged.beside_bytes += bytes;
    record_charge(r);
    return true;
}

/* Returns the bytes by which the table of stacks may grow for @n nodes; 0: it need not grow. */
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

/* Returns whether @n more nodes fit in the budget. Thins the samples of @r if there is otherwise no
 * room. */
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

void record_revise_process(struct record *r, uint32_t process, const struct profile_process *facts)
{
    struct profile_process *p = id_table_at(&r->processes, process);

    *p = *facts; /* the hash is now outdated, but no caller searches for this entry again */
}

int record_thread(struct record *r, const struct profile_thread *t, uint32_t *ret)
{
    int k = id_table_add(&r->threads, t, ret);

    record_charge(r);
    return MIN(k, 0);
}

int record_context(struct record *r, uint32_t thread, const struct profile_context *c,
                   struct span name, uint64_t time_ns, uint32_t *ret)
{
    const struct profile_thread *t = id_table_get(&r->threads, thread);
    const struct profile_process *p = id_table_get(&r->processes, t->process);
    int k = r->contexts ? 0 : contexts_new(&r->contexts);

    if (k == 0)
        k = contexts_add(r->contexts, c, t->process, frame_table_get_string(r->table, p->service),
                         name, time_ns, ret);
    record_charge(r);
    return k;
}

void record_rename_thread(struct record *r, uint32_t thread, uint32_t name)
{
    struct profile_thread *t = id_table_at(&r->threads, thread);
    struct span before, now;

    if (t->name == name)
        return;
    before = frame_table_get_string(r->table, t->name);
    now = frame_table_get_string(r->table, name);
    if (now.n <= before.n && memcmp(before.p, now.p, now.n) == 0)
        return;
    t->name = name; /* the hash is now outdated, but no caller searches for this entry again */
}

uint32_t record_thread_name(const struct record *r, uint32_t thread)
{
    return ((const struct profile_thread *)id_table_get(&r->threads, thread))->name;
}

/* Returns true with probability @part / @whole. */
static bool record_chance(struct record *r, uint64_t part, uint64_t whole)
{
    r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint64_t)((unsigned __int128)(r->random >> 33) * whole >> 31) < part;
}

/* Returns the weight of a sample among those of its event. */
static uint64_t record_weight(const struct profile_sample *s)
{
    return s->value ? s->value : s->count;
}

/* Draws whether the second of two samples of one event is kept. A fixed choice would drop all
 * samples of one of two processors that tick in turns. */
static bool record_keeps_second(struct record *r, const struct profile_sample *a,
                                const struct profile_sample *b)
{
    return record_chance(r, record_weight(b), record_weight(a) + record_weight(b));
}

/* Adds the weight of @other to @kept. */
static void record_stand_for(struct profile_sample *kept, const struct profile_sample *other)
{
    kept->count += other->count;
    kept->value += other->value;
}

/* Halves the samples at the limit: of two samples of one event, one is dropped and the other takes
 * its weight. */
static void record_thin(struct record *r)
{
    size_t kept = 0, first[PROFILE_EVENTS_MAX] = { 0 }; /* 1 + index of the event's unpaired
                                                         * sample */

    for (size_t i = 0; i < r->sample_count; i++) {
        struct profile_sample s = r->samples[i], *a;

        if (!first[s.event]) {
            r->samples[kept++] = s;
            first[s.event] = kept;
            r->last[s.event].at = kept;
            continue;
        }
        a = &r->samples[first[s.event] - 1];
        if (record_keeps_second(r, a, &s)) {
            record_stand_for(&s, a);
            *a = s;
        } else
            record_stand_for(a, &s);
        first[s.event] = 0;
    }
    r->thinned += r->sample_count - kept;
    r->sample_count = kept;
    r->keep_every *= 2;
}

/* Returns the next capacity: small arrays double, large ones grow by a quarter. */
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
    record_starve(r);
    cap = r->sample_count + r->sample_count / 4; /* leaves room: otherwise the next sample would
                                                  * thin the record again */
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
    if (r->sample_count >= r->sample_max)
        return -ENOSPC;
    cap = record_next_cap(r);
    if (r->sample_cap && !record_affords(r, (cap - r->sample_cap) * sizeof(*samples))) {
        if (record_sample_bytes(r) < RECORD_SHRINK_MIN_BYTES)
            r->budget->exhausted(r->budget->cookie);
        record_starve(r);
        record_thin(r); /* frees room in the present array */
        return r->sample_count < r->sample_cap ? 0 : -ENOSPC;
    }
    samples = memory_guard_admits((cap - r->sample_cap) * sizeof(*samples))
                  ? realloc(r->samples, cap * sizeof(*samples))
                  : NULL;
    if (!samples)
        return -ENOMEM;
    r->samples = samples;
    r->sample_cap = cap;
    record_charge(r);
    return 0;
}

/* Adds the @n frames of @stack below @node. */
static int record_stack_below(struct record *r, uint32_t node, const uint32_t *stack, size_t n,
                              uint32_t *ret)
{
    uint32_t before = r->nodes.cap;
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

static int record_stack(struct record *r, const uint32_t *stack, size_t n, uint32_t *ret)
{
    return record_stack_below(r, /* node= */ 0, stack, n, ret);
}

int record_place(struct record *r, uint32_t caller, uint32_t frame, uint32_t *ret)
{
    return record_stack_below(r, caller, &frame, 1, ret);
}

/* Folds @s into the last kept sample of its event or, by chance, that sample into @s. @stack NULL:
 * s->stack is the place of the stack. */
static void record_skip(struct record *r, struct profile_sample *s, const uint32_t *stack, size_t n)
{
    struct record_last *last = &r->last[s->event];
    uint32_t node = s->stack;
    bool takes_over = record_keeps_second(r, &r->samples[last->at - 1], s) &&
                      (!stack || record_stack(r, stack, n, &node) == 0);
    struct profile_sample *kept = &r->samples[last->at - 1]; /* again, since record_stack() may thin
                                                              * the samples */

    last->skip--;
    r->thinned++;
    if (takes_over) {
        s->stack = node;
        record_stand_for(s, kept);
        *kept = *s;
    } else
        record_stand_for(kept, s);
}

/* Adds a sample. @stack NULL: sample->stack is the place of the stack. */
static int record_add(struct record *r, const struct profile_sample *sample, const uint32_t *stack,
                      size_t n)
{
    struct profile_sample s = *sample;
    uint32_t node = s.stack;
    int k = 0;

    if (s.event >= PROFILE_EVENTS_MAX)
        return -EINVAL;
    r->counted += s.count;
    if (r->last[s.event].skip > 0 && r->last[s.event].at) {
        record_skip(r, &s, stack, n);
        return 0;
    }
    if (stack)
        k = record_stack(r, stack, n, &node);
    if (k == 0)
        k = record_reserve(r);
    if (k < 0) {
        r->dropped += s.count;
        r->counted -= s.count;
        return k;
    }
    s.stack = node;
    /* NOLINTNEXTLINE(clang-analyzer-*): every record has room for at least one sample */
    r->samples[r->sample_count++] = s;
    r->last[s.event] = (struct record_last){ r->sample_count, r->keep_every - 1 };
    return 0;
}

int record_sample(struct record *r, const struct profile_sample *s, const uint32_t *stack, size_t n)
{
    return record_add(r, s, n ? stack : &(uint32_t){ 0 }, n);
}

int record_sample_at(struct record *r, const struct profile_sample *s)
{
    return record_add(r, s, NULL, 0);
}

int record_hold(struct record *r, const uint32_t *stack, size_t n, uint32_t *ret)
{
    int k = record_stack(r, stack, n, ret);

    r->dropped += k < 0;
    return k;
}

size_t record_held(const struct record *r, uint32_t place, uint32_t *ret, size_t max)
{
    const struct record_node *node;
    size_t n = 0;

    for (; place && place < r->nodes.count && n < max; place = node->parent) {
        node = id_table_get(&r->nodes, place);
        ret[n++] = node->frame;
    }
    return n;
}

void record_drop(struct record *r, uint32_t count)
{
    r->dropped += count;
}

/* Returns a new sentence, owned by the caller; NULL: it exists already, or no memory. */
static char *new_warning(const struct record *r, const char *fmt, va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        return NULL;
    text = text_clean_owned(text);
    for (size_t i = 0; text && i < r->warning_count; i++) {
        if (strcmp(r->warnings[i], text) == 0) {
            free(text);
            return NULL;
        }
    }
    return text;
}

/* Adds a warning, and owns @text. Beyond @max warnings, only counts the sentence, once even if it
 * recurs. */
static void add_warning(struct record *r, char *text, size_t max)
{
    uint64_t hash;
    uint32_t id;

    if (r->warning_count < max) {
        r->warnings[r->warning_count++] = text;
        return;
    }
    hash = fnv1a(FNV1A_START, text, strlen(text));
    id_table_add(&r->unwarned, &hash, &id);
    free(text);
}

void record_warn(struct record *r, const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    text = new_warning(r, fmt, ap);
    va_end(ap);
    if (text)
        add_warning(r, text, PROFILE_WARNINGS_MAX - (r->finishing ? 0 : RECORD_WARNINGS_LAST));
}

void record_warn_process(struct record *r, const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    text = new_warning(r, fmt, ap);
    va_end(ap);
    if (!text)
        return;
    if (r->warned_processes < PROFILE_WARNINGS_MAX / 2) {
        r->warned_processes++;
        add_warning(r, text, PROFILE_WARNINGS_MAX - RECORD_WARNINGS_LAST);
    } else {
        add_warning(r, text, 0);
    }
}

const char *const *record_warnings(const struct record *r, size_t *ret_count)
{
    *ret_count = r->warning_count;
    return (const char *const *)r->warnings;
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
           id_table_bytes(&r->threads) + r->sample_cap * sizeof(*r->samples) +
           r->moment_cap * sizeof(*r->moments) + contexts_bytes(r->contexts) +
           r->charged.beside_bytes;
}
