/* SPDX-License-Identifier: Apache-2.0 */
#include "render/leaf_counts.h"

/* Returns the innermost Java frame of a row: the last frame may be native, or of the kernel. */
static const uint32_t *leaf_of(const struct view *v, const struct view_row *row)
{
    for (uint32_t i = row->n; i > row->roots; i--) {
        const uint32_t *frame = &v->stack[row->first + i - 1];

        if (frame_kind_is_java((enum frame_kind)v->frames[*frame].kind))
            return frame;
    }
    return NULL;
}

int leaf_counts_new(const struct view *v, struct leaf_counts **ret)
{
    struct leaf_counts *counts = calloc(v->frame_count + 1, sizeof(*counts));

    if (!counts)
        return -ENOMEM;
    for (size_t i = 0; i < v->row_count; i++) {
        const struct view_row *row = &v->rows[i];
        const uint32_t *frame = row->inferred || row->unsure ? leaf_of(v, row) : NULL;

        if (!frame)
            continue;
        counts[*frame].inferred += row->inferred;
        counts[*frame].unsure += row->unsure;
    }
    *ret = counts;
    return 0;
}
