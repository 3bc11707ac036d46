/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `tree`: the call tree as indented text, heaviest branch first, of the `top` heaviest
 * frames. With `reverse` it grows from the leaves: who called the hot ones.
 */
#include "base/cleanup.h"
#include "render/report.h"

#define TREE_NONE UINT32_MAX
#define TREE_INDENT_MAX 100 /* levels that are indented; the number of the level says more */

struct tree_node {
    uint32_t name;   /* string of the view */
    uint32_t parent; /* comes earlier; TREE_NONE: at the root */
    uint32_t depth;
    uint32_t child, sibling; /* the heaviest first; only among the frames that are shown */
    struct report_weight total, self;
};

struct tree {
    const struct view *v;
    bool reverse;
    struct tree_node *nodes; /* parents first */
    size_t n, cap;
    uint32_t *open; /* the branch that is being added to, by depth */
};

/* The name of the @i'th frame of a row on its way through the tree. */
static uint32_t row_name(const struct view *v, const struct view_row *row, uint32_t i, bool reverse)
{
    return v->frames[v->stack[row->first + (reverse ? row->n - 1 - i : i)]].name;
}

static int reversed_cmp(const void *a, const void *b, void *ctx)
{
    const struct view *v = ctx;
    const struct view_row *x = *(struct view_row *const *)a, *y = *(struct view_row *const *)b;

    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        uint32_t m = row_name(v, x, i, true), n = row_name(v, y, i, true);

        if (m != n)
            return m < n ? -1 : 1;
    }
    return x->n != y->n ? (x->n < y->n ? -1 : 1) : (x > y) - (x < y);
}

static int tree_add_node(struct tree *t, uint32_t name, uint32_t depth)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 1024;
        struct tree_node *nodes = reallocarray(t->nodes, cap, sizeof(*nodes));

        if (!nodes || cap > UINT32_MAX / 2) {
            t->nodes = nodes ? nodes : t->nodes;
            return -ENOMEM;
        }
        t->nodes = nodes;
        t->cap = cap;
    }
    t->nodes[t->n] = (struct tree_node){ .name = name,
                                         .depth = depth,
                                         .parent = depth ? t->open[depth - 1] : TREE_NONE,
                                         .child = TREE_NONE,
                                         .sibling = TREE_NONE };
    t->open[depth] = (uint32_t)t->n++;
    return 0;
}

/* Adds a row, whose first @kept frames are the open branch. */
static int tree_add_row(struct tree *t, const struct view_row *row, uint32_t kept)
{
    int r = 0;

    for (uint32_t i = kept; i < row->n && r == 0; i++)
        r = tree_add_node(t, row_name(t->v, row, i, t->reverse), i);
    for (uint32_t i = 0; i < row->n && r == 0; i++) {
        t->nodes[t->open[i]].total.samples += row->samples;
        t->nodes[t->open[i]].total.value += row->value;
    }
    if (r == 0 && row->n) { /* what ran itself is the leaf */
        uint32_t leaf = t->open[t->reverse ? 0 : row->n - 1];

        t->nodes[leaf].self.samples += row->samples;
        t->nodes[leaf].self.value += row->value;
    }
    return r;
}

static int tree_build(struct tree *t, const struct view_row **rows)
{
    const struct view *v = t->v;
    uint32_t depth = 0;
    int r = 0;

    for (size_t i = 0; i < v->row_count; i++) {
        rows[i] = &v->rows[i];
        depth = MAX(depth, v->rows[i].n);
    }
    if (t->reverse)
        qsort_r(rows, v->row_count, sizeof(*rows), reversed_cmp, (void *)v);
    t->open = calloc((size_t)depth + 1, sizeof(*t->open));
    if (!t->open)
        return -ENOMEM;
    for (size_t i = 0; i < v->row_count && r == 0; i++) {
        uint32_t kept = 0;

        while (i && kept < rows[i]->n && kept < rows[i - 1]->n &&
               row_name(v, rows[i], kept, t->reverse) == row_name(v, rows[i - 1], kept, t->reverse))
            kept++;
        r = tree_add_row(t, rows[i], kept);
    }
    return r;
}

/* Heaviest first; parents, which are never lighter, before their children. */
static int node_cmp(const void *a, const void *b, void *ctx)
{
    const struct tree *t = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t m = report_weigh(t->v, t->nodes[x].total), n = report_weigh(t->v, t->nodes[y].total);

    if (m != n)
        return m < n ? 1 : -1;
    return (x > y) - (x < y);
}

/* Chains the @top heaviest nodes; returns the first root. */
static uint32_t tree_link(struct tree *t, uint32_t *order, size_t top)
{
    uint32_t root = TREE_NONE;

    for (size_t i = 0; i < t->n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, t->n, sizeof(*order), node_cmp, t);
    for (size_t i = MIN(top, t->n); i > 0; i--) {
        struct tree_node *node = &t->nodes[order[i - 1]];
        uint32_t *head = node->parent == TREE_NONE ? &root : &t->nodes[node->parent].child;

        node->sibling = *head;
        *head = order[i - 1];
    }
    return root;
}

static void tree_print_node(const struct tree *t, const struct tree_node *node, struct buf *out)
{
    const struct view *v = t->v;
    uint64_t all = report_weigh(v, report_whole(v));

    buf_printf(
        out, "%7.2f%%  %6.2f%%  %9llu  %*s[%u] ", report_percent(report_weigh(v, node->total), all),
        report_percent(report_weigh(v, node->self), all), (unsigned long long)node->total.samples,
        (int)(2 * MIN(node->depth, (uint32_t)TREE_INDENT_MAX)), "", node->depth);
    buf_add_span(out, view_string(v, node->name));
    buf_add_char(out, '\n');
}

static void tree_print(const struct tree *t, uint32_t at, struct buf *out)
{
    buf_add_str(out, "\n   total     self    samples  frame\n");
    buf_add_str(out, " -------  -------  ---------  -----\n");
    while (at != TREE_NONE) {
        const struct tree_node *node = &t->nodes[at];

        tree_print_node(t, node, out);
        if (node->child != TREE_NONE) {
            at = node->child;
            continue;
        }
        while (node->sibling == TREE_NONE && node->parent != TREE_NONE)
            node = &t->nodes[node->parent];
        at = node->sibling;
    }
}

static void tree_deinit(struct tree *t)
{
    free(t->nodes);
    free(t->open);
}

int render_tree(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_(tree_deinit) struct tree t = { .v = v, .reverse = o && o->reverse };
    _cleanup_free_ const struct view_row **rows = calloc(v->row_count + 1, sizeof(void *));
    _cleanup_free_ uint32_t *order = NULL;
    size_t top = report_top(o);
    int r = rows ? tree_build(&t, rows) : -ENOMEM;

    if (r == 0)
        order = calloc(t.n + 1, sizeof(*order));
    if (r < 0 || !order)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    report_add_head(v, o, out);
    tree_print(&t, tree_link(&t, order, top), out);
    if (t.n > top)
        buf_printf(out, "%28s[%zu lighter frames are left out: top=%zu]\n", "", t.n - top, top);
    return render_result(out, err);
}
