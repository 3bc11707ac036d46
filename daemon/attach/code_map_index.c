/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the piece of code at an address and a time. */
#include "attach/code_map_impl.h"

#include "base/array.h"
#include "base/cleanup.h"

struct sort_key {
    uint64_t start;
    uint32_t index;
};

ORDER_FUNCTION(compare_keys, struct sort_key,
               COMPARE(x->start, y->start) ?: COMPARE(x->index, y->index))

void code_map_append(struct code_map *m)
{
    uint32_t last = m->piece_count - 1;
    const struct piece *p = &m->pieces[last];

    if (m->ordered != last || (last && m->pieces[m->order[last - 1]].start > p->start))
        return;
    m->order[last] = last;
    m->reach[last] = last ? MAX(m->reach[last - 1], p->end) : p->end;
    m->ordered++;
}

bool code_map_index(struct code_map *m)
{
    _cleanup_free_ struct sort_key *keys = NULL;
    uint64_t most = 0;

    if (m->ordered == m->piece_count)
        return true;
    keys = malloc(m->piece_count * sizeof(*keys));
    if (!keys)
        return false;
    for (uint32_t i = 0; i < m->piece_count; i++)
        keys[i] = (struct sort_key){ m->pieces[i].start, i };
    qsort(keys, m->piece_count, sizeof(*keys), compare_keys);
    for (uint32_t i = 0; i < m->piece_count; i++) {
        m->order[i] = keys[i].index;
        most = MAX(most, m->pieces[keys[i].index].end);
        m->reach[i] = most;
    }
    m->ordered = m->piece_count;
    return true;
}

/* Returns how many indexed pieces start below @address. */
static uint32_t below(const struct code_map *m, uint64_t address)
{
    return (uint32_t)array_first(m->ordered, mid, m->pieces[m->order[mid]].start < address);
}

static void end_piece(struct piece *p, uint64_t start, uint64_t end, uint64_t time_ns)
{
    if (p->to_ns == UINT64_MAX && p->start < end && start < p->end && !p->stub)
        p->to_ns = MAX(time_ns, p->from_ns);
}

void code_map_end(struct code_map *m, uint64_t start, uint64_t end, uint64_t time_ns)
{
    /* Sort new pieces in once they are an eighth of all. */
    if (m->piece_count - m->ordered > 1024 + m->ordered / 8)
        code_map_index(m);
    for (uint32_t i = below(m, end); i > 0 && m->reach[i - 1] > start; i--)
        end_piece(&m->pieces[m->order[i - 1]], start, end, time_ns);
    for (uint32_t i = m->ordered; i < m->piece_count; i++)
        end_piece(&m->pieces[i], start, end, time_ns);
}

const struct piece *code_map_piece(struct code_map *m, uint64_t pc, uint64_t time_ns)
{
    const struct piece *best = NULL, *late = NULL;

    if (!code_map_index(m))
        return NULL;
    for (uint32_t i = below(m, pc == UINT64_MAX ? pc : pc + 1); i > 0 && m->reach[i - 1] > pc;
         i--) {
        const struct piece *p = &m->pieces[m->order[i - 1]];

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
