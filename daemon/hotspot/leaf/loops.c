/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds natural loops. An edge to a block that dominates the edge's start closes a loop. Loops with
 * one head are one loop. Two loops of different heads are nested or disjoint.
 */
#include "base/array.h"
#include "hotspot/leaf/graph.h"

#include "base/cleanup.h"

/* State while loops are collected. */
struct collect {
    uint32_t *mark;  /* [block_count] last loop that saw the block, counted from 1 */
    uint32_t *queue; /* [block_count] */
    size_t body_count, body_room;
};

static void collect_free(struct collect *c)
{
    free(c->mark);
    free(c->queue);
}

static int body_add(struct leaf_graph *g, struct collect *c, uint32_t block)
{
    if (c->body_count == LEAF_BODIES_MAX)
        return -E2BIG;
    if (!array_grow(&g->bodies, &c->body_room, c->body_count + 1, 256))
        return -ENOMEM;
    g->bodies[c->body_count++] = block;
    return 0;
}

/* Adds the blocks that lead to @block inside loop @number. */
static int body_fill(struct leaf_graph *g, struct collect *c, uint32_t number, uint32_t block)
{
    size_t left = 0;
    int r = 0;

    if (c->mark[block] == number)
        return 0;
    c->mark[block] = number;
    c->queue[left++] = block;
    while (r == 0 && left > 0) {
        uint32_t at = c->queue[--left];
        const struct leaf_block *b = &g->blocks[at];

        r = body_add(g, c, at);
        if (r == 0 && !leaf_graph_pay(g, 1 + b->predecessor_count))
            r = -E2BIG;
        for (uint32_t i = 0; r == 0 && i < b->predecessor_count; i++) {
            uint32_t from = g->edges_in[b->predecessors + i];

            if (g->blocks[from].order == LEAF_NONE || c->mark[from] == number)
                continue;
            c->mark[from] = number;
            c->queue[left++] = from;
        }
    }
    return r;
}

static int loop_add(struct leaf_graph *g, struct collect *c, uint32_t head)
{
    uint32_t number = (uint32_t)g->loop_count + 1, body = (uint32_t)c->body_count;
    const struct leaf_block *h = &g->blocks[head];
    bool closes = false;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < h->predecessor_count; i++) {
        uint32_t from = g->edges_in[h->predecessors + i];

        if (g->blocks[from].order == LEAF_NONE || !leaf_dominates(g, head, from))
            continue;
        if (!closes && g->loop_count == LEAF_LOOPS_MAX)
            return -E2BIG;
        if (!closes) {
            closes = true;
            c->mark[head] = number;
            r = body_add(g, c, head);
        }
        if (r == 0)
            r = body_fill(g, c, number, from);
    }
    if (closes)
        g->loops[g->loop_count++] =
            (struct leaf_loop){ .head = head,
                                .body = body,
                                .body_count = (uint32_t)c->body_count - body,
                                .parent = LEAF_NONE };
    return r;
}

/* Orders inner loops first. */
ORDER_FUNCTION(compare_loops, struct leaf_loop,
               COMPARE(x->body_count, y->body_count) ?: COMPARE(x->head, y->head))

/* Sets the innermost loop of each block, and the parent of each loop. */
static void nest_loops(struct leaf_graph *g)
{
    for (uint32_t l = (uint32_t)g->loop_count; l-- > 0;) {
        struct leaf_loop *loop = &g->loops[l];

        loop->parent = g->blocks[loop->head].loop;
        for (uint32_t i = 0; i < loop->body_count; i++)
            g->blocks[g->bodies[loop->body + i]].loop = l;
    }
}

int leaf_loops_make(struct leaf_graph *g)
{
    _cleanup_(collect_free) struct collect c = {
        .mark = calloc(g->block_count + 1, sizeof(*c.mark)),
        .queue = malloc((g->block_count + 1) * sizeof(*c.queue)),
    };
    int r = 0;

    g->loops = malloc(LEAF_LOOPS_MAX * sizeof(*g->loops));
    if (!c.mark || !c.queue || !g->loops)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < g->reached; i++) {
        if (!leaf_graph_pay(g, 1 + g->blocks[g->order[i]].predecessor_count))
            return -E2BIG;
        r = loop_add(g, &c, g->order[i]);
    }
    if (r < 0 || g->steps == 0)
        return r < 0 ? r : -E2BIG;
    qsort(g->loops, g->loop_count, sizeof(*g->loops), compare_loops);
    nest_loops(g);
    return 0;
}
