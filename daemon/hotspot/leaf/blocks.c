/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the basic blocks and the edges between them. */
#include "base/array.h"
#include "hotspot/leaf/graph.h"

#include "base/cleanup.h"

/* Edges while they are collected. If a block has an edge to the next instruction, it is the block's
 * last edge. */
struct edges {
    struct leaf_way *at; /* owned; ways between blocks, not bytes */
    size_t count, room;
};

static void edges_free(struct edges *e)
{
    free(e->at);
}

/* Returns the index of the instruction that begins at byte @target; LEAF_NONE: none. */
static uint32_t begins_at(const struct leaf_graph *g, int64_t target)
{
    uint32_t i;

    if (target < 0 || target > UINT32_MAX)
        return LEAF_NONE;
    i = leaf_instruction_at(g, (uint32_t)target);
    return i != LEAF_NONE && g->instructions[i].at == target ? i : LEAF_NONE;
}

static void lead(const struct leaf_graph *g, bool *leads, int64_t target)
{
    uint32_t i = begins_at(g, target);

    if (i != LEAF_NONE)
        leads[i] = true;
}

static bool ends_block(const struct leaf_instruction *i)
{
    return i->flow == LEAF_BRANCH || i->flow == LEAF_JUMP || i->flow == LEAF_STOP ||
           i->flow == LEAF_TRAP;
}

static void find_leaders(const struct leaf_graph *g, const struct leaf_ways *ways, bool *leads)
{
    leads[0] = true;
    for (size_t i = 0; i < g->instruction_count; i++) {
        const struct leaf_instruction *in = &g->instructions[i];

        if (!ends_block(in))
            continue;
        lead(g, leads, in->target);
        if (i + 1 < g->instruction_count)
            leads[i + 1] = true;
    }
    for (size_t i = 0; i < ways->trap_count; i++)
        lead(g, leads, ways->traps[i].to);
    for (size_t i = 0; i < ways->handler_count; i++)
        lead(g, leads, ways->handlers[i].to);
    for (size_t i = 0; i < ways->table_count; i++)
        lead(g, leads, ways->tables[i]);
}

static int cut_blocks(struct leaf_graph *g, const bool *leads)
{
    size_t count = 0, at = 0;

    for (size_t i = 0; i < g->instruction_count; i++)
        count += leads[i];
    if (count > LEAF_BLOCKS_MAX)
        return -E2BIG;
    g->blocks = calloc(count, sizeof(*g->blocks));
    g->block_of = malloc(g->instruction_count * sizeof(*g->block_of));
    if (!g->blocks || !g->block_of)
        return -ENOMEM;
    for (size_t i = 0; i < g->instruction_count; i++) {
        if (leads[i])
            g->blocks[at++] =
                (struct leaf_block){ .first = (uint32_t)i, .loop = LEAF_NONE, .order = LEAF_NONE };
        g->block_of[i] = (uint32_t)at - 1;
        g->blocks[at - 1].end = (uint32_t)i + 1;
    }
    g->block_count = count;
    return 0;
}

static int edge_add(struct edges *e, uint32_t from, uint32_t to)
{
    if (e->count == LEAF_EDGES_MAX)
        return -E2BIG;
    if (!array_grow(&e->at, &e->room, e->count + 1, 256))
        return -ENOMEM;
    e->at[e->count++] = (struct leaf_way){ from, to };
    return 0;
}

/* Adds an edge from the block that holds byte @from to the block that begins at byte @to, if both
 * exist. */
static int edge_add_way(const struct leaf_graph *g, struct edges *e, uint32_t from, uint32_t to)
{
    uint32_t a = leaf_instruction_at(g, from), b = begins_at(g, to);

    if (a == LEAF_NONE || b == LEAF_NONE)
        return 0;
    return edge_add(e, g->block_of[a], g->block_of[b]);
}

static int add_ways(const struct leaf_graph *g, const struct leaf_ways *ways, struct edges *e)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ways->trap_count; i++)
        r = edge_add_way(g, e, ways->traps[i].from, ways->traps[i].to);
    for (size_t i = 0; r == 0 && i < ways->handler_count; i++) {
        if (ways->handlers[i].from > 0)
            r = edge_add_way(g, e, ways->handlers[i].from - 1, ways->handlers[i].to);
    }
    return r;
}

/* Finds the blocks that words of jump tables lead to, once for all jumps. Other words are left out,
 * so that LEAF_EDGES_MAX bounds the product of jumps and words. */
static int find_table_blocks(const struct leaf_graph *g, const struct leaf_ways *ways,
                             uint32_t **ret, size_t *ret_count)
{
    uint32_t *blocks = malloc((ways->table_count + 1) * sizeof(*blocks));

    if (!blocks)
        return -ENOMEM;
    *ret_count = 0;
    for (size_t i = 0; i < ways->table_count; i++) {
        uint32_t target = begins_at(g, ways->tables[i]);

        if (target != LEAF_NONE)
            blocks[(*ret_count)++] = g->block_of[target];
    }
    *ret = blocks;
    return 0;
}

static int add_flow(const struct leaf_graph *g, const struct leaf_ways *ways, struct edges *e)
{
    _cleanup_free_ uint32_t *table = NULL;
    size_t table_count = 0;
    int r = find_table_blocks(g, ways, &table, &table_count);

    for (uint32_t b = 0; r == 0 && b < g->block_count; b++) {
        const struct leaf_instruction *last = &g->instructions[g->blocks[b].end - 1];
        uint32_t target = begins_at(g, last->target);

        if (ends_block(last) && target != LEAF_NONE && last->flow != LEAF_TRAP)
            r = edge_add(e, b, g->block_of[target]);
        if (last->flow == LEAF_JUMP && last->target == LEAF_NO_TARGET) {
            for (size_t i = 0; r == 0 && i < table_count; i++)
                r = edge_add(e, b, table[i]);
        }
        if (r == 0 && (!ends_block(last) || last->flow == LEAF_BRANCH) && b + 1 < g->block_count)
            r = edge_add(e, b, b + 1);
    }
    return r;
}

/* Drops the edges of padding behind a jump. They would add a second way into the code after the
 * padding. */
static void drop_padding(const struct leaf_graph *g, struct edges *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->count; i++)
        g->blocks[e->at[i].to].predecessor_count++;
    for (size_t i = 0; i < e->count; i++) {
        const struct leaf_block *from = &g->blocks[e->at[i].from];
        uint32_t k = from->first;

        while (k < from->end && g->instructions[k].flow == LEAF_PAD)
            k++;
        if (k < from->end || from->predecessor_count > 0 || e->at[i].from == 0)
            e->at[kept++] = e->at[i];
    }
    e->count = kept;
}

/* Stores the edges twice: sorted by the block that they leave, and by the block that they enter. */
static int store_edges(struct leaf_graph *g, const struct edges *e)
{
    uint32_t out = 0, in = 0;

    g->edges_out = malloc((e->count + 1) * sizeof(*g->edges_out));
    g->edges_in = malloc((e->count + 1) * sizeof(*g->edges_in));
    if (!g->edges_out || !g->edges_in)
        return -ENOMEM;
    for (size_t b = 0; b < g->block_count; b++)
        g->blocks[b].predecessor_count = 0;
    for (size_t i = 0; i < e->count; i++) {
        g->blocks[e->at[i].from].successor_count++;
        g->blocks[e->at[i].to].predecessor_count++;
    }
    for (size_t b = 0; b < g->block_count; b++) {
        struct leaf_block *block = &g->blocks[b];

        block->successors = out;
        block->predecessors = in;
        out += block->successor_count;
        in += block->predecessor_count;
        block->successor_count = block->predecessor_count = 0;
    }
    for (size_t i = 0; i < e->count; i++) {
        struct leaf_block *from = &g->blocks[e->at[i].from], *to = &g->blocks[e->at[i].to];

        g->edges_out[from->successors + from->successor_count++] = e->at[i].to;
        g->edges_in[to->predecessors + to->predecessor_count++] = e->at[i].from;
    }
    return 0;
}

int leaf_blocks_make(struct leaf_graph *g, const struct leaf_ways *ways)
{
    _cleanup_free_ bool *leads = calloc(g->instruction_count + 1, sizeof(*leads));
    _cleanup_(edges_free) struct edges e = { 0 };
    int r;

    if (!leads)
        return -ENOMEM;
    if (g->instruction_count == 0)
        return 0;
    find_leaders(g, ways, leads);
    r = cut_blocks(g, leads) ?: add_ways(g, ways, &e) ?: add_flow(g, ways, &e);
    if (r < 0)
        return r;
    drop_padding(g, &e);
    return store_edges(g, &e);
}
