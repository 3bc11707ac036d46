/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/leaf/graph.h"

#include "base/array.h"
#include "base/cleanup.h"

void leaf_graph_deinit(struct leaf_graph *g)
{
    free(TAKE_PTR(g->blocks));
    free(TAKE_PTR(g->block_of));
    free(TAKE_PTR(g->edges_out));
    free(TAKE_PTR(g->edges_in));
    free(TAKE_PTR(g->order));
    free(TAKE_PTR(g->loops));
    free(TAKE_PTR(g->bodies));
}

bool leaf_graph_pay(struct leaf_graph *g, size_t n)
{
    if (n > g->steps) {
        g->steps = 0; /* callers see by this that the work was not finished */
        return false;
    }
    g->steps -= n;
    return true;
}

uint32_t leaf_instruction_at(const struct leaf_graph *g, uint32_t at)
{
    size_t low = array_first(g->instruction_count, mid,
                             g->instructions[mid].at + g->instructions[mid].size <= at);

    return low < g->instruction_count && g->instructions[low].at <= at ? (uint32_t)low : LEAF_NONE;
}

bool leaf_loop_has(struct leaf_graph *g, uint32_t loop, uint32_t block)
{
    uint32_t l = g->blocks[block].loop;

    while (l != LEAF_NONE && l < loop) {
        if (!leaf_graph_pay(g, 1))
            return false;
        l = g->loops[l].parent;
    }
    return l == loop;
}
