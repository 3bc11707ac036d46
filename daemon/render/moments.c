/* SPDX-License-Identifier: Apache-2.0 */
#include "render/moments.h"

#include "render/formats.h"

/* ---- choosing moments, if there are too many ---- */

/* The moments shown, and the number of those left out. */
struct shown {
    struct profile_moment *list; /* owned */
    size_t count, left_out, pauses_left_out;
};

/* Returns whether the moment stopped the threads of a JVM. */
static bool is_pause(const struct profile_moment *m)
{
    return m->kind == MOMENT_IS_GC || m->kind == MOMENT_IS_SAFEPOINT;
}

ORDER_FUNCTION(by_start, struct profile_moment, COMPARE(x->start_ns, y->start_ns))

/* Orders pauses before other moments, and both by length, the longest first. */
static int by_rank(const void *a, const void *b)
{
    const struct profile_moment *x = a, *y = b;
    uint64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

    if (is_pause(x) != is_pause(y))
        return is_pause(x) ? -1 : 1;
    return x_ns > y_ns ? -1 : x_ns < y_ns ? 1 : by_start(a, b);
}

ORDER_FUNCTION(by_source, struct profile_moment,
               COMPARE(x->process, y->process) ?:
                   COMPARE(x->kind, y->kind) ?:
                   by_start(x, y))

/* Adds up @step successive counts of each kind and process. Returns the number left. */
static size_t join_counts(struct profile_moment *list, size_t n, size_t step)
{
    size_t count = 0, joined = 0;

    qsort(list, n, sizeof(*list), by_source);
    for (size_t i = 0; i < n; i++) {
        struct profile_moment *last = &list[count ? count - 1 : 0];

        if (joined == 0 || joined == step || last->kind != list[i].kind ||
            last->process != list[i].process) {
            list[count++] = list[i];
            joined = 1;
            continue;
        }
        last->end_ns = MAX(last->end_ns, list[i].end_ns);
        last->count += list[i].count;
        last->reach_ns += list[i].reach_ns;
        joined++;
    }
    return count;
}

/* Puts counts before single moments. Returns the number of counts. */
static size_t copy_moments(const struct profile *p, struct profile_moment *to)
{
    size_t counts = 0, last = p->moment_count;

    for (size_t i = 0; i < p->moment_count; i++) {
        if (profile_moment_counts(p->moments[i].kind))
            to[counts++] = p->moments[i];
        else
            to[--last] = p->moments[i];
    }
    return counts;
}

/* Chooses at most @max moments; at most half of these are counts. 0 or -ENOMEM. */
static int choose(const struct profile *p, size_t max, struct shown *ret)
{
    struct profile_moment *list = calloc(p->moment_count, sizeof(*list)), *single;
    size_t counts, singles, half = MAX(max / 2, (size_t)1);

    if (!list)
        return -ENOMEM;
    counts = copy_moments(p, list);
    single = list + counts;
    singles = p->moment_count - counts;
    counts = MIN(join_counts(list, counts, (counts + half - 1) / half), max);
    qsort(single, singles, sizeof(*single), by_rank);
    ret->list = list;
    ret->count = MIN(counts + singles, max);
    ret->left_out = counts + singles - ret->count;
    for (size_t i = singles - ret->left_out; i < singles; i++)
        ret->pauses_left_out += is_pause(&single[i]);
    memmove(list + counts, single, (ret->count - counts) * sizeof(*list));
    qsort(list, ret->count, sizeof(*list), by_start);
    return 0;
}

/* ---- as JSON ---- */

static void add_moment(const struct profile *p, const struct profile_moment *m, struct buf *out)
{
    buf_printf(out, "\n{\"kind\":\"%s\",\"process\":%u,\"at_ns\":%lld,\"ns\":%llu",
               profile_moment_kind_name(m->kind), m->process,
               (long long)(m->start_ns - p->start_ns),
               (unsigned long long)(m->end_ns - m->start_ns));
    if (profile_moment_counts(m->kind))
        buf_printf(out, ",\"count\":%u", m->count);
    if (m->reach_ns)
        buf_printf(out, ",\"%s\":%llu", profile_moment_counts(m->kind) ? "total_ns" : "reach_ns",
                   (unsigned long long)m->reach_ns);
    render_add_json_member(out, "name", intern_get(p->strings, m->name));
    render_add_json_member(out, "by", intern_get(p->strings, m->by));
    render_add_json_member(out, "compiler", intern_get(p->strings, m->compiler));
    buf_add_char(out, '}');
}

static void add_list(const struct profile *p, const struct profile_moment *list, size_t count,
                     struct buf *out)
{
    buf_add_str(out, ",\n\"moments\":[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(out, ',');
        add_moment(p, &list[i], out);
    }
    buf_add_char(out, ']');
}

void render_add_moments(const struct profile *p, size_t max, struct buf *out)
{
    struct shown shown = { 0 };

    if (p->moment_count && p->moment_count <= max) {
        add_list(p, p->moments, p->moment_count, out);
    } else if (p->moment_count && choose(p, max, &shown) < 0) {
        out->error = -ENOMEM;
    } else if (p->moment_count) {
        add_list(p, shown.list, shown.count, out);
        buf_printf(out, ",\n\"moments_left_out\":%zu,\"pauses_left_out\":%zu", shown.left_out,
                   shown.pauses_left_out);
    }
    free(shown.list);
}
