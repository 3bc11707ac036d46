/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/heavy_names.h"

#include "base/array.h"

#define RECENT_MINUTES 8 /* time constant of the mean, in minutes */

uint64_t heavy_recent(uint64_t recent_ns, uint64_t ns)
{
    return recent_ns - recent_ns / RECENT_MINUTES + ns / RECENT_MINUTES;
}

void heavy_names_deinit(struct heavy_names *h)
{
    for (size_t i = 0; i < h->count; i++)
        free(h->names[i].name);
    free(h->names);
    *h = (struct heavy_names){ 0 };
}

ORDER_FUNCTION(heavier_first, struct heavy_weight,
               COMPARE(y->ns, x->ns) ?: COMPARE(x->name, y->name))

/* Removes @name from @weights, and returns its time. */
static uint64_t take(struct heavy_weight *weights, size_t count, uint32_t name)
{
    for (size_t i = 0; i < count; i++) {
        if (weights[i].name == name) {
            uint64_t ns = weights[i].ns;

            weights[i].ns = 0;
            return ns;
        }
    }
    return 0;
}

static void name_free(const struct heavy_name *n, const struct heavy_limits *l)
{
    if (l->gone)
        l->gone(l->cookie, n);
    free(n->name);
}

static void count_known(struct heavy_names *h, const struct intern *strings,
                        struct heavy_weight *weights, size_t count, uint64_t start_ns,
                        const struct heavy_limits *l)
{
    size_t kept = 0;

    for (size_t i = 0; i < h->count; i++) {
        struct heavy_name *n = &h->names[i];
        uint32_t id;
        uint64_t ns = intern_find(strings, span_of(n->name), &id) ? take(weights, count, id) : 0;

        n->ns += ns;
        n->recent_ns = heavy_recent(n->recent_ns, ns);
        n->idle = ns ? 0 : n->idle + 1;
        if (ns)
            n->newest = (struct heavy_minute){ start_ns, ns };
        if (n->idle > HEAVY_IDLE_MINUTES)
            name_free(n, l);
        else
            h->names[kept++] = *n;
    }
    h->count = kept;
}

/* Returns the number of names of a kind. *ret_lightest: the lightest of them; NULL: none. */
static size_t count_kind(const struct heavy_names *h, bool chosen, struct heavy_name **ret_lightest)
{
    size_t n = 0;

    *ret_lightest = NULL;
    for (size_t i = 0; i < h->count; i++) {
        struct heavy_name *one = &h->names[i];

        if (one->chosen != chosen)
            continue;
        n++;
        if (!*ret_lightest || one->recent_ns < (*ret_lightest)->recent_ns)
            *ret_lightest = one;
    }
    return n;
}

/* Returns the place for a new name: a free place, or that of the lightest name if *replaces is
 * still true. NULL: none. */
static struct heavy_name *place_of(struct heavy_names *h, const struct heavy_weight *w,
                                   const struct heavy_limits *l, bool *replaces)
{
    struct heavy_name *lightest;
    size_t n = count_kind(h, w->chosen, &lightest);

    if (n < (w->chosen ? l->chosen : l->heaviest))
        return array_grow(&h->names, &h->cap, h->count + 1, 8) ? &h->names[h->count++] : NULL;
    if (w->chosen || !lightest || !*replaces || w->ns <= HEAVY_FACTOR * lightest->recent_ns)
        return NULL;
    *replaces = false;
    name_free(lightest, l);
    return lightest;
}

/* Adds the name of @w. Returns false if it finds no place. */
static bool admit(struct heavy_names *h, const struct intern *strings, const struct heavy_weight *w,
                  uint64_t start_ns, const struct heavy_limits *l, bool *replaces)
{
    struct span name = intern_get(strings, w->name);
    char *copy = span_eq_str(name, HEAVY_OTHER) ? NULL : span_dup(name);
    struct heavy_name *n = copy ? place_of(h, w, l, replaces) : NULL;

    if (!n) {
        free(copy);
        return false;
    }
    *n = (struct heavy_name){
        .name = copy, .ns = h->begun ? 0 : w->ns, .recent_ns = w->ns, .chosen = w->chosen
    };
    if (!h->begun)
        n->newest = (struct heavy_minute){ start_ns, w->ns };
    h->other_ns += h->begun ? w->ns : 0;
    return true;
}

size_t heavy_names_add(struct heavy_names *h, const struct intern *strings,
                       struct heavy_weight *weights, size_t count, uint64_t start_ns,
                       const struct heavy_limits *l)
{
    size_t left_out = 0;
    bool replaces = true;

    count_known(h, strings, weights, count, start_ns, l);
    qsort(weights, count, sizeof(*weights), heavier_first);
    for (size_t i = 0; i < count && weights[i].ns; i++) {
        if (admit(h, strings, &weights[i], start_ns, l, &replaces))
            continue;
        h->other_ns += weights[i].ns;
        left_out += weights[i].chosen;
    }
    h->begun = true;
    return left_out;
}
