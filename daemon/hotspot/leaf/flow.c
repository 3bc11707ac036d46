/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a flow graph, step by step. */
#include "hotspot/leaf/graph.h"

int leaf_graph_make(const struct leaf_instruction *instructions, size_t count,
                    const struct leaf_ways *ways, struct leaf_graph *ret)
{
    struct leaf_graph g = { .instructions = instructions,
                            .instruction_count = count,
                            .steps = LEAF_STEPS_MAX };
    int r = count > LEAF_INSTRUCTIONS_MAX ? -E2BIG : leaf_blocks_make(&g, ways);

    if (r == 0)
        r = leaf_dominators_make(&g) ?: leaf_loops_make(&g);
    if (r < 0)
        leaf_graph_deinit(&g);
    else
        *ret = g;
    return r;
}
