/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dominators, by Cooper, Harvey and Kennedy: walk the blocks in reverse postorder until nothing
 * changes. A virtual root leads to all entries: the first block, and each block without
 * predecessors (entries for on-stack replacement, handlers that no table names).
 */
#include "hotspot/leaf/graph.h"

#include "base/cleanup.h"

/* A block on the stack of visits, with successors still to visit. */
struct visit {
    uint32_t block, next;
};

/* Visits the blocks reachable from @entry, and appends them to g->order in postorder. */
static void visit_from(struct leaf_graph *g, uint32_t entry, struct visit *stack, bool *seen)
{
    size_t depth = 0;

    if (seen[entry])
        return;
    seen[entry] = true;
    stack[depth++] = (struct visit){ entry, 0 };
    while (depth > 0) {
        struct visit *v = &stack[depth - 1];
        const struct leaf_block *b = &g->blocks[v->block];

        if (v->next == b->successor_count) {
            g->order[g->reached++] = v->block;
            depth--;
        } else {
            uint32_t to = g->edges_out[b->successors + v->next++];

            if (!seen[to]) {
                seen[to] = true;
                stack[depth++] = (struct visit){ to, 0 };
            }
        }
    }
}

static int number_blocks(struct leaf_graph *g)
{
    _cleanup_free_ struct visit *stack = malloc((g->block_count + 1) * sizeof(*stack));
    _cleanup_free_ bool *seen = calloc(g->block_count + 1, sizeof(*seen));

    g->order = malloc((g->block_count + 1) * sizeof(*g->order));
    if (!stack || !seen || !g->order)
        return -ENOMEM;
    /* The first block is visited last, so that it comes first in the reverse order. */
    for (uint32_t b = (uint32_t)g->block_count; b-- > 1;) {
        if (g->blocks[b].predecessor_count == 0)
            visit_from(g, b, stack, seen);
    }
    if (g->block_count > 0)
        visit_from(g, 0, stack, seen);
    for (size_t i = 0; i < g->reached / 2; i++) {
        uint32_t b = g->order[i];

        g->order[i] = g->order[g->reached - 1 - i];
        g->order[g->reached - 1 - i] = b;
    }
    for (size_t i = 0; i < g->reached; i++)
        g->blocks[g->order[i]].order = (uint32_t)i;
    return 0;
}

/* Returns the nearest block that dominates both blocks; LEAF_NONE: only the root does. */
static uint32_t meet(struct leaf_graph *g, uint32_t a, uint32_t b)
{
    while (a != b && a != LEAF_NONE && b != LEAF_NONE) {
        if (!leaf_graph_pay(g, 1))
            return LEAF_NONE;
        if (g->blocks[a].order > g->blocks[b].order)
            a = g->blocks[a].dominator;
        else
            b = g->blocks[b].dominator;
    }
    return a == b ? a : LEAF_NONE;
}

/* Returns whether @block is an entry: a successor of the root. */
static bool is_entry(const struct leaf_graph *g, uint32_t block)
{
    return block == 0 || g->blocks[block].predecessor_count == 0;
}

static bool update(struct leaf_graph *g, uint32_t block, bool *known)
{
    struct leaf_block *b = &g->blocks[block];
    uint32_t best = LEAF_NONE;
    bool found = is_entry(g, block);

    for (uint32_t i = 0; i < b->predecessor_count && !(found && best == LEAF_NONE); i++) {
        uint32_t from = g->edges_in[b->predecessors + i];

        if (g->blocks[from].order == LEAF_NONE || !known[from])
            continue;
        best = found ? meet(g, best, from) : from;
        found = true;
    }
    if (is_entry(g, block))
        best = LEAF_NONE;
    if (known[block] && b->dominator == best)
        return false;
    b->dominator = best;
    known[block] = true;
    return true;
}

int leaf_dominators_make(struct leaf_graph *g)
{
    _cleanup_free_ bool *known = calloc(g->block_count + 1, sizeof(*known));
    bool changed = true;
    int r = number_blocks(g);

    if (r < 0 || !known)
        return -ENOMEM;
    for (size_t b = 0; b < g->block_count; b++)
        g->blocks[b].dominator = LEAF_NONE;
    while (changed) {
        changed = false;
        if (!leaf_graph_pay(g, g->reached))
            return -E2BIG;
        for (size_t i = 0; i < g->reached; i++)
            changed |= update(g, g->order[i], known);
    }
    return g->steps > 0 ? 0 : -E2BIG;
}

bool leaf_dominates(struct leaf_graph *g, uint32_t a, uint32_t b)
{
    while (b != LEAF_NONE && g->blocks[b].order > g->blocks[a].order) {
        if (!leaf_graph_pay(g, 1))
            return false;
        b = g->blocks[b].dominator;
    }
    return a == b;
}
