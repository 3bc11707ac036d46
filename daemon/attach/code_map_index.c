/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the piece of code at an address and a time. */
#include "attach/code_map_impl.h"

#include "base/array.h"

#include <search.h>

static int compare_pieces(const void *a, const void *b, void *map)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return COMPARE(piece_at(map, x)->start, piece_at(map, y)->start) ?: COMPARE(x, y);
}

static bool grow_order(struct code_map *m)
{
    uint32_t cap = (m->piece_count + PIECE_BLOCK - 1) / PIECE_BLOCK * PIECE_BLOCK;
    uint32_t *order = realloc(m->order, cap * sizeof(*order));
    uint64_t *reach = realloc(m->reach, cap * sizeof(*reach));

    m->order = order ? order : m->order;
    m->reach = reach ? reach : m->reach;
    if (!order || !reach)
        return false;
    m->ordered_cap = cap;
    return true;
}

bool code_map_index(struct code_map *m)
{
    uint64_t most = 0;

    if (m->ordered == m->piece_count)
        return true;
    if (m->piece_count > m->ordered_cap && !grow_order(m))
        return false;
    for (uint32_t i = m->ordered; i < m->piece_count; i++)
        m->order[i] = i;
    qsort_r(m->order, m->piece_count, sizeof(*m->order), compare_pieces, m);
    for (uint32_t i = 0; i < m->piece_count; i++) {
        most = MAX(most, piece_at(m, m->order[i])->end);
        m->reach[i] = most;
    }
    m->ordered = m->piece_count;
    return true;
}

/* Returns how many indexed pieces start below @address. */
static uint32_t below(const struct code_map *m, uint64_t address)
{
    return (uint32_t)array_first(m->ordered, mid, piece_at(m, m->order[mid])->start < address);
}

/* Orders pieces that do not overlap, for tsearch(3); pieces that overlap are equal. */
static int compare_places(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return x->end <= y->start ? -1 : x->start >= y->end;
}

void code_map_end(struct code_map *m, uint64_t start, uint64_t end, uint64_t time_ns)
{
    const struct piece place = { .start = start, .end = end };
    struct piece **found;

    /* Each piece ends once, so that all records together cost little more than their number. */
    while ((found = tfind(&place, &m->alive, compare_places))) {
        struct piece *p = *found;

        p->to_ns = MAX(MIN(time_ns, UINT64_MAX - 1), p->from_ns);
        tdelete(p, &m->alive, compare_places);
    }
}

bool code_map_live(struct code_map *m, const struct piece *p)
{
    return tsearch(p, &m->alive, compare_places);
}

const struct piece *code_map_piece(struct code_map *m, uint64_t pc, uint64_t time_ns)
{
    const struct piece *best = NULL, *late = NULL;
    uint32_t first, i;

    if (!code_map_index(m))
        return NULL;
    first = below(m, pc == UINT64_MAX ? pc : pc + 1);
    for (i = first; i > 0 && m->reach[i - 1] > pc; i--) {
        const struct piece *p = piece_at(m, m->order[i - 1]);

        m->stats.steps++;
        if (first - i == CODE_MAP_WALK_MAX) {
            m->stats.given_up++;
            return NULL;
        }
        if (pc < p->start || pc >= p->end || (time_ns >= p->to_ns && p->to_ns != UINT64_MAX))
            continue;
        if (time_ns < p->from_ns) {
            if (p->from_ns - time_ns <= CODE_MAP_LATE_NS && (!late || p->from_ns < late->from_ns))
                late = p;
            continue;
        }
        /* Prefer the later piece, and a method to the stub around it. */
        if (!best || (best->stub && !p->stub) ||
            (best->stub == p->stub && p->from_ns >= best->from_ns))
            best = p;
    }
    return best && (!best->stub || !late) ? best : late;
}
