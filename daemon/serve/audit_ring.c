/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/audit_ring.h"

#include "base/list.h"

#include <stdlib.h>

struct audit_owner {
    struct caller caller;
    size_t count; /* number of its lines; 0: unused */
};

bool audit_ring_init(struct audit_ring *r, size_t max, size_t share)
{
    *r = (struct audit_ring){ .lines = calloc(max, sizeof(*r->lines)),
                              .owners = calloc(max, sizeof(*r->owners)),
                              .max = max,
                              .share = share };
    return r->lines && r->owners;
}

void audit_ring_deinit(struct audit_ring *r)
{
    for (size_t i = 0; r->lines && i < r->max; i++)
        free(r->lines[i].json);
    free(r->lines);
    free(r->owners);
    *r = (struct audit_ring){ 0 };
}

/* Returns the entry of @c, else an unused one; @r->max: neither exists. */
static size_t find_owner(const struct audit_ring *r, const struct caller *c)
{
    size_t spare = r->max;

    for (size_t i = 0; i < r->max; i++) {
        if (r->owners[i].count && caller_equal(&r->owners[i].caller, c))
            return i;
        if (!r->owners[i].count && spare == r->max)
            spare = i;
    }
    return spare;
}

static size_t largest_owner(const struct audit_ring *r)
{
    size_t most = 0;

    for (size_t i = 1; i < r->max; i++) {
        if (r->owners[i].count > r->owners[most].count)
            most = i;
    }
    return most;
}

/* Returns the oldest line of @owner, which has at least one. */
static struct audit_line *oldest_of(struct audit_ring *r, size_t owner)
{
    struct audit_line *oldest = NULL;

    for (size_t i = 0; i < r->max; i++) {
        struct audit_line *l = &r->lines[i];

        if (l->json && l->owner == owner && (!oldest || l->number < oldest->number))
            oldest = l;
    }
    return oldest;
}

static struct audit_line *free_line(struct audit_ring *r)
{
    return FIRST_OF(i, r->lines, r->max, !r->lines[i].json);
}

/* Returns an empty line for the caller at @own, evicting one if needed. @own is @r->max for a
 * caller without an entry. */
static struct audit_line *make_room(struct audit_ring *r, size_t own)
{
    bool has_share = own < r->max && r->owners[own].count >= r->share;
    struct audit_line *l = has_share ? NULL : free_line(r);

    if (l)
        return l;
    l = oldest_of(r, has_share ? own : largest_owner(r));
    r->owners[l->owner].count--;
    free(l->json);
    l->json = NULL;
    return l;
}

void audit_ring_put(struct audit_ring *r, const struct caller *of, uint64_t number, char *json)
{
    size_t own = find_owner(r, of);
    struct audit_line *l = make_room(r, own);

    if (own == r->max) /* every owner had one line, so the eviction freed an entry */
        own = l->owner;
    r->owners[own].caller = *of;
    r->owners[own].count++;
    *l = (struct audit_line){ number, json, (uint32_t)own };
}
