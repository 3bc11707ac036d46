/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves frames that become known only when the profile is made. A node of the stack tree that
 * stands for such frames is replaced by one node for each frame.
 */
#include "profile/record_impl.h"

#include "base/cleanup.h"

void record_set_later(struct record *r, record_later_fn fn, void *cookie)
{
    r->later = fn;
    r->later_cookie = cookie;
}

/* Position of an old node in the new tree. */
struct moved {
    uint32_t node;
    bool unknown; /* a resolved frame from the root to the node has no name */
};

/* Appends the resolved frames of @node below *at. */
static int move_node(const struct record *r, const struct record_node *node, struct id_table *nodes,
                     struct moved *at)
{
    uint32_t frames[RECORD_LATER_FRAMES_MAX] = { node->frame };
    bool later = node->frame >= RECORD_LATER;
    size_t count = later ? r->later(r->later_cookie, node->frame - RECORD_LATER, frames) : 1;

    for (size_t i = count; i > 0; i--) {
        struct record_node key = { at->node, frames[i - 1] };
        int k = id_table_add(nodes, &key, &at->node);

        if (k < 0)
            return k;
        at->unknown |= later && frame_table_get(r->table, key.frame)->unknown;
    }
    return 0;
}

static int move_nodes(const struct record *r, struct id_table *nodes, struct moved *moved)
{
    struct record_node root = { 0 };
    int k = id_table_add(nodes, &root, &moved[0].node);

    /* callers precede their callees in the list */
    for (uint32_t i = 1; i < r->nodes.count && k >= 0; i++) {
        const struct record_node *n = id_table_get(&r->nodes, i);

        moved[i] = moved[n->parent];
        k = move_node(r, n, nodes, &moved[i]);
    }
    return MIN(k, 0);
}

int record_resolve(const struct record *r, struct record *ret)
{
    _cleanup_free_ struct moved *moved = calloc(r->nodes.count, sizeof(*moved));
    struct record out = *r;
    int k;

    out.samples = malloc(MAX(r->sample_count, (size_t)1) * sizeof(*out.samples));
    id_table_init(&out.nodes, sizeof(struct record_node), RECORD_NODES_MAX);
    k = moved && out.samples ? move_nodes(r, &out.nodes, moved) : -ENOMEM;
    if (k < 0) {
        record_resolved_deinit(&out);
        return k;
    }
    for (size_t i = 0; i < r->sample_count; i++) {
        const struct moved *m = &moved[r->samples[i].stack];

        out.samples[i] = r->samples[i];
        out.samples[i].stack = m->node;
        if (m->unknown)
            out.samples[i].flags |= PROFILE_SAMPLE_UNKNOWN;
    }
    *ret = out;
    return 0;
}

void record_resolved_deinit(struct record *resolved)
{
    id_table_deinit(&resolved->nodes);
    free(resolved->samples);
}
