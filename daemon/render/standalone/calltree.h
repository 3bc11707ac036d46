/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree of a view, for the formats that draw it. It has one node for each distinct path of
 * names, from the root or, reversed, from the leaf. It is built branch by branch, and only heavy
 * nodes are kept. So its memory depends on the kept nodes, not on the profile.
 */
#pragma once

#include "render/report.h"

#define CALLTREE_NONE UINT32_MAX

struct calltree_node {
    uint32_t name;           /* string of the view */
    uint32_t kind;           /* enum frame_kind of most of its weight */
    uint32_t parent;         /* index of the parent, which is smaller; CALLTREE_NONE: a root */
    uint32_t depth;          /* 0 at the root */
    uint32_t child, sibling; /* first child, and next sibling in the requested order; CALLTREE_NONE:
                              * none */
    struct view_sum total, self;
};

struct calltree_opts {
    bool reverse;   /* from the leaves, towards their callers */
    bool by_name;   /* siblings by name; else the heaviest first */
    uint64_t least; /* nodes that weigh less are left out */
    size_t top;     /* limit: only the heaviest nodes are kept; 0: all */
};

struct calltree {
    struct calltree_node *nodes; /* parents first */
    size_t count, left_out;
    uint32_t first;  /* the first node at the root, CALLTREE_NONE: there is none */
    uint32_t levels; /* number of levels of the kept nodes */
};

/* 0 or -ENOMEM; calltree_deinit() is needed in every case. */
int calltree_init(struct calltree *t, const struct view *v, const struct calltree_opts *o);
void calltree_deinit(struct calltree *t);
/* Returns the next node in depth-first order, CALLTREE_NONE after the last. */
uint32_t calltree_next(const struct calltree *t, uint32_t at);
