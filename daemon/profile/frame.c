/* SPDX-License-Identifier: Apache-2.0 */
/* The table of named frames: strings, modules, functions and frames, each distinct entry once. */
#include "profile/frame.h"

#include "base/array.h"
#include "base/id_table.h"

#define ROUTE_OF_BYTES 5 /* of a function in route_of, with room to grow */

struct frame_table {
    struct intern *strings;
    struct id_table modules, functions, frames;
    struct function_route *routes; /* owned, [route_count] */
    size_t route_count, route_cap;
    uint32_t *route_of; /* owned, [route_of_cap]: route by function; 0: unknown */
    size_t route_of_cap;
    struct shares shares; /* bytes of the table, by owner */
    uint64_t owner;       /* owner that new entries are charged to; 0: none */
};

/* Adds entry 0 of each table. */
static int frame_table_add_unknown(struct frame_table *t)
{
    struct module m = { 0 };
    struct function f = { 0 };
    struct frame frame = { .kind = FRAME_UNKNOWN, .unknown = 1 };
    uint32_t id;
    int r;

    r = id_table_add(&t->modules, &m, &id);
    if (r >= 0)
        r = id_table_add(&t->functions, &f, &id);
    if (r >= 0)
        r = id_table_add(&t->frames, &frame, &id);
    return MIN(r, 0);
}

int frame_table_new(size_t max_entries, size_t max_string_bytes, struct frame_table **ret)
{
    struct frame_table *t = calloc(1, sizeof(*t));
    uint32_t max = (uint32_t)MIN(max_entries, (size_t)UINT32_MAX / 2);
    int r;

    if (!t)
        return -ENOMEM;
    shares_init(&t->shares, max_string_bytes);
    id_table_init(&t->modules, sizeof(struct module), max);
    id_table_init(&t->functions, sizeof(struct function), max);
    id_table_init(&t->frames, sizeof(struct frame), max);
    r = intern_new(max_string_bytes, &t->strings) ?: frame_table_add_unknown(t);
    if (r < 0) {
        frame_table_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

struct frame_table *frame_table_free(struct frame_table *t)
{
    if (!t)
        return NULL;
    frame_table_join(t, NULL);
    intern_free(t->strings);
    id_table_deinit(&t->modules);
    id_table_deinit(&t->functions);
    id_table_deinit(&t->frames);
    free(t->routes);
    free(t->route_of);
    free(t);
    return NULL;
}

void frame_table_seal(struct frame_table *t)
{
    id_table_seal(&t->modules);
    id_table_seal(&t->functions);
    id_table_seal(&t->frames);
}

void frame_table_join(struct frame_table *t, struct shares *whole)
{
    shares_leave(&t->shares);
    if (whole && !t->shares.used)
        shares_init_part(&t->shares, t->shares.max, whole);
    else if (whole)
        shares_rejoin(&t->shares, whole);
}

void frame_table_charge(struct frame_table *t, uint64_t owner)
{
    t->owner = owner;
}

uint64_t frame_table_refused(const struct frame_table *t)
{
    return t->shares.refused;
}

/* Returns whether the owner has room for a new entry. As entries are small, the last one may exceed
 * the share a little. */
static bool has_room(const struct frame_table *t)
{
    return !t->owner || shares_room_lasting(&t->shares, t->owner) > 0;
}

/* Returns 0 if the entry is known; else counts a refusal and returns -ENOSPC. */
static int known_or_refused(struct frame_table *t, bool known)
{
    t->shares.refused += !known;
    return known ? 0 : -ENOSPC;
}

/* Charges an entry with @extra bytes beside it. It pays for its part of the room to grow, too. */
static int frame_table_add(struct frame_table *t, struct id_table *to, const void *record,
                           size_t extra, uint32_t *ret)
{
    int r;

    *ret = 0;
    if (!has_room(t))
        return known_or_refused(t, id_table_find(to, record, ret));
    r = id_table_add(to, record, ret);
    if (r > 0)
        shares_force(&t->shares, t->owner, ID_TABLE_ENTRY_BYTES(to->size) + extra);
    return MIN(r, 0);
}

int frame_table_string(struct frame_table *t, struct span clean, uint32_t *ret)
{
    uint32_t before = intern_count(t->strings);
    int r;

    *ret = 0;
    if (!has_room(t))
        return known_or_refused(t, intern_find(t->strings, clean, ret));
    r = intern_add(t->strings, clean, ret);
    if (intern_count(t->strings) != before)
        shares_force(&t->shares, t->owner, clean.n + INTERN_EXTRA_BYTES);
    return r;
}

int frame_table_module(struct frame_table *t, const struct module *m, uint32_t *ret)
{
    return frame_table_add(t, &t->modules, m, 0, ret);
}

int frame_table_function(struct frame_table *t, const struct function *f, uint32_t *ret)
{
    return frame_table_add(t, &t->functions, f, ROUTE_OF_BYTES, ret);
}

int frame_table_frame(struct frame_table *t, const struct frame *f, uint32_t *ret)
{
    return frame_table_add(t, &t->frames, f, 0, ret);
}

uint32_t frame_table_get_route(const struct frame_table *t, uint32_t function)
{
    return function < t->route_of_cap ? t->route_of[function] : 0;
}

void frame_table_set_route(struct frame_table *t, uint32_t function, uint32_t route)
{
    uint32_t before = frame_table_get_route(t, function);
    bool listed = before || route != FUNCTION_ROUTE_NONE;

    if (!function || function >= t->functions.count || route == before ||
        before == FUNCTION_ROUTE_NONE || (listed && !before && !has_room(t)) ||
        (listed && !array_grow(&t->routes, &t->route_cap, t->route_count + 1, 64)) ||
        (function >= t->route_of_cap &&
         !array_extend(&t->route_of, &t->route_of_cap, t->functions.cap)))
        return;
    t->route_of[function] = before ? FUNCTION_ROUTE_NONE : route;
    if (!listed)
        return;
    t->routes[t->route_count++] = (struct function_route){ function, t->route_of[function] };
    shares_force(&t->shares, t->owner, 2 * sizeof(*t->routes)); /* array_grow() */
}

const struct function_route *frame_table_get_set_route(const struct frame_table *t, uint32_t i)
{
    return &t->routes[i];
}

uint32_t frame_table_clean(struct frame_table *t, struct span raw, enum text_encoding encoding)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(TEXT_NAME_MAX);
    uint32_t id = 0;

    text_clean(raw, encoding, TEXT_NAME_MAX, &clean);
    frame_table_string(t, buf_span(&clean), &id);
    return id;
}

uint32_t frame_table_text(struct frame_table *t, struct span text, enum frame_kind kind)
{
    struct function f = { 0 };
    struct frame frame = { .kind = (uint8_t)kind };
    uint32_t id = 0;

    frame_table_string(t, text, &f.name);
    frame_table_function(t, &f, &frame.function);
    frame_table_frame(t, &frame, &id);
    return id;
}

const struct frame *frame_table_get(const struct frame_table *t, uint32_t frame)
{
    return id_table_get(&t->frames, frame < t->frames.count ? frame : 0);
}

const struct function *frame_table_get_function(const struct frame_table *t, uint32_t function)
{
    return id_table_get(&t->functions, function < t->functions.count ? function : 0);
}

const struct module *frame_table_get_module(const struct frame_table *t, uint32_t module)
{
    return id_table_get(&t->modules, module < t->modules.count ? module : 0);
}

struct span frame_table_get_string(const struct frame_table *t, uint32_t string)
{
    return intern_get(t->strings, string);
}

size_t frame_table_bytes(const struct frame_table *t)
{
    return intern_bytes(t->strings) + id_table_bytes(&t->modules) + id_table_bytes(&t->functions) +
           id_table_bytes(&t->frames) + t->route_cap * sizeof(*t->routes) +
           t->route_of_cap * sizeof(*t->route_of);
}

size_t frame_table_uncharged(const struct frame_table *t)
{
    size_t bytes = frame_table_bytes(t);

    return bytes - MIN(bytes, t->shares.used);
}

void frame_table_counts(const struct frame_table *t, struct frame_table_counts *ret)
{
    *ret =
        (struct frame_table_counts){ intern_count(t->strings), t->modules.count, t->functions.count,
                                     t->frames.count, (uint32_t)t->route_count };
}
