/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/leaf/ over code and records of a file (leaf_file.h): whatever it holds, the work is
 * bounded and the ranges are sorted and lead to frames. The corpus was recorded by record_leaf.c.
 */
#include "hotspot/leaf/bytecode.h"
#include "leaf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct leaf_input *in, const struct leaf_ranges *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct leaf_range *at = &r->at[i];

        if (at->start >= at->end || (i > 0 && at->start < r->at[i - 1].end) ||
            at->verdict == LEAF_RECORDED || leaf_ranges_find(r, at->start) != at ||
            (at->callee != LEAF_NONE && at->callee >= in->method_count) ||
            (at->chain != LEAF_NONE &&
             (at->chain >= in->chain_count || at->drop >= in->chains[at->chain].count)))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct leaf_bytecodes bytecodes;
    struct leaf_ranges r = { 0 };
    struct leaf_graph g;
    struct leaf_file f;

    leaf_bytecode_read((struct span){ (const char *)data, MIN(size, (size_t)65535) }, &bytecodes);
    if (leaf_file_parse((struct span){ (const char *)data, size }, &f) &&
        leaf_input_is_whole(&f.in) &&
        leaf_graph_make(f.instructions, f.in.instruction_count, &f.in.ways, &g) == 0) {
        if (leaf_ranges_make(&f.in, &g, &r) == 0)
            check(&f.in, &r);
        free(r.at);
        leaf_graph_deinit(&g);
    }
    leaf_file_deinit(&f);
    return 0;
}
