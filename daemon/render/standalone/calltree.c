/* SPDX-License-Identifier: Apache-2.0 */
#include "render/standalone/calltree.h"

#include "base/array.h"
#include "base/cleanup.h"

/* A node that is open (rows still add to it) or kept. */
struct entry {
    struct calltree_node node;
    uint64_t weight;
    uint64_t kind_weight; /* weight in the majority vote; see profile/top_functions.c */
    uint32_t order;       /* number in depth-first order: parents before their children */
};

struct builder {
    const struct view *v;
    const struct calltree_opts *o;
    struct entry *open; /* the branch that is being added to, by depth */
    uint32_t open_count, order;
    struct entry *kept; /* with `top`, a heap: the first entry is dropped next */
    size_t kept_count, kept_cap, left_out;
};

/* Returns frame number @i of a row, in the direction in which the tree grows. */
static const struct view_frame *row_frame(const struct view *v, const struct view_row *row,
                                          uint32_t i, bool reverse)
{
    return &v->frames[v->stack[row->first + (reverse ? row->n - 1 - i : i)]];
}

static int reversed_cmp(const void *a, const void *b, void *ctx)
{
    const struct view *v = ctx;
    const struct view_row *x = *(struct view_row *const *)a, *y = *(struct view_row *const *)b;

    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        uint32_t m = row_frame(v, x, i, true)->name, n = row_frame(v, y, i, true)->name;

        if (m != n)
            return m < n ? -1 : 1;
    }
    return x->n != y->n ? (x->n < y->n ? -1 : 1) : (x > y) - (x < y);
}

/* ---- what is kept ---- */

/* Returns true if @a is dropped before @b. A parent weighs at least as much as its children and
 * comes before them, so it outlives them. */
static bool is_lighter(const struct entry *a, const struct entry *b)
{
    return a->weight != b->weight ? a->weight < b->weight : a->order > b->order;
}

static void swap(struct entry *a, struct entry *b)
{
    struct entry t = *a;

    *a = *b;
    *b = t;
}

static void heap_up(struct entry *heap, size_t i)
{
    for (; i && is_lighter(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
}

static void heap_down(struct entry *heap, size_t n)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_lighter(&heap[child + 1], &heap[child]))
            child++;
        if (!is_lighter(&heap[child], &heap[i]))
            break;
        swap(&heap[i], &heap[child]);
    }
}

static int keep(struct builder *b, const struct entry *e)
{
    if (e->weight < b->o->least) {
        b->left_out++;
        return 0;
    }
    if (b->o->top && b->kept_count == b->o->top) {
        b->left_out++;
        if (is_lighter(&b->kept[0], e)) {
            b->kept[0] = *e;
            heap_down(b->kept, b->kept_count);
        }
        return 0;
    }
    if (b->kept_count == UINT32_MAX / 2 ||
        !array_grow(&b->kept, &b->kept_cap, b->kept_count + 1, 1024))
        return -ENOMEM;
    b->kept[b->kept_count++] = *e;
    if (b->o->top)
        heap_up(b->kept, b->kept_count - 1);
    return 0;
}

/* ---- adding up ---- */

static void add_weight(struct view_sum *to, struct view_sum w)
{
    to->samples += w.samples;
    to->value += w.value;
}

/* Ends the nodes of the branch at @depth and deeper. */
static int close_nodes(struct builder *b, uint32_t depth)
{
    int r = 0;

    while (b->open_count > depth && r == 0) {
        struct entry *e = &b->open[--b->open_count];

        e->weight = report_weigh(b->v, e->node.total);
        if (b->open_count)
            add_weight(&e[-1].node.total, e->node.total);
        r = keep(b, e);
    }
    return r;
}

static void vote_kind(struct entry *e, uint32_t kind, uint64_t weight)
{
    if (!e->kind_weight)
        e->node.kind = kind;
    if (e->node.kind == kind)
        e->kind_weight += weight;
    else
        e->kind_weight -= MIN(weight, e->kind_weight);
}

/* Adds a row. Its first @kept frames are the open branch. */
static void add_row(struct builder *b, const struct view_row *row, uint32_t kept)
{
    struct view_sum w = { row->samples, row->value };
    uint64_t weight = report_weigh(b->v, w);

    for (uint32_t i = kept; i < row->n; i++)
        b->open[i] = (struct entry){
            .node = { .name = row_frame(b->v, row, i, b->o->reverse)->name, .depth = i },
            .order = b->order++,
        };
    b->open_count = row->n;
    if (!row->n)
        return;
    for (uint32_t i = 0; i < row->n; i++)
        vote_kind(&b->open[i], row_frame(b->v, row, i, b->o->reverse)->kind, weight);
    add_weight(&b->open[row->n - 1].node.total, w);
    add_weight(&b->open[b->o->reverse ? 0 : row->n - 1].node.self, w); /* the leaf of the row ran */
}

static int add_rows(struct builder *b, const struct view_row **rows)
{
    const struct view *v = b->v;
    uint32_t deepest = 0;
    const size_t count = v->row_count;
    int r = 0;

    for (size_t i = 0; i < count; i++) {
        rows[i] = &v->rows[i];
        deepest = MAX(deepest, v->rows[i].n);
    }
    if (b->o->reverse)
        qsort_r(rows, count, sizeof(*rows), reversed_cmp, (void *)(uintptr_t)v);
    b->open = calloc((size_t)deepest + 1, sizeof(*b->open));
    if (!b->open)
        return -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++) {
        uint32_t kept = 0;

        while (kept < rows[i]->n && kept < b->open_count &&
               row_frame(v, rows[i], kept, b->o->reverse)->name == b->open[kept].node.name)
            kept++;
        r = close_nodes(b, kept);
        if (r == 0)
            add_row(b, rows[i], kept);
    }
    return r == 0 ? close_nodes(b, 0) : r;
}

/* ---- linking ---- */

ORDER_FUNCTION(order_cmp, struct entry, COMPARE(x->order, y->order))

struct linking {
    const struct view *v;
    const struct calltree *t;
    bool by_name;
};

/* Orders nodes so that siblings are neighbours, the last sibling first. */
static int sibling_cmp(const void *a, const void *b, void *ctx)
{
    const struct linking *l = ctx;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct calltree_node *x = &l->t->nodes[i], *y = &l->t->nodes[k];
    uint64_t m = report_weigh(l->v, x->total), n = report_weigh(l->v, y->total);

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (l->by_name)
        return span_compare(view_string(l->v, y->name), view_string(l->v, x->name));
    if (m != n)
        return m < n ? -1 : 1;
    return (i < k) - (i > k);
}

static int link_nodes(struct calltree *t, const struct view *v, bool by_name)
{
    _cleanup_free_ uint32_t *order = calloc(t->count + 1, sizeof(*order));
    _cleanup_free_ uint32_t *branch = calloc((size_t)t->levels + 1, sizeof(*branch));
    struct linking l = { v, t, by_name };

    if (!order || !branch)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->count; i++) {
        struct calltree_node *n = &t->nodes[i];

        n->parent = n->depth ? branch[n->depth - 1] : CALLTREE_NONE;
        n->child = n->sibling = CALLTREE_NONE;
        branch[n->depth] = order[i] = i;
    }
    qsort_r(order, t->count, sizeof(*order), sibling_cmp, &l);
    for (size_t i = 0; i < t->count; i++) {
        struct calltree_node *n = &t->nodes[order[i]];
        uint32_t *head = n->parent == CALLTREE_NONE ? &t->first : &t->nodes[n->parent].child;

        n->sibling = *head;
        *head = order[i];
    }
    return 0;
}

static int take_kept(struct calltree *t, struct builder *b)
{
    if (b->kept_count)
        qsort(b->kept, b->kept_count, sizeof(*b->kept), order_cmp);
    t->nodes = calloc(b->kept_count + 1, sizeof(*t->nodes));
    if (!t->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < b->kept_count; i++) {
        t->nodes[i] = b->kept[i].node;
        t->levels = MAX(t->levels, t->nodes[i].depth + 1);
    }
    t->count = b->kept_count;
    t->left_out = b->left_out;
    return link_nodes(t, b->v, b->o->by_name);
}

int calltree_init(struct calltree *t, const struct view *v, const struct calltree_opts *o)
{
    _cleanup_free_ const struct view_row **rows = calloc(v->row_count + 1, sizeof(void *));
    struct builder b = { .v = v, .o = o };
    int r = rows ? add_rows(&b, rows) : -ENOMEM;

    *t = (struct calltree){ .first = CALLTREE_NONE };
    if (r == 0)
        r = take_kept(t, &b);
    free(b.open);
    free(b.kept);
    return r;
}

void calltree_deinit(struct calltree *t)
{
    free(t->nodes);
}

uint32_t calltree_next(const struct calltree *t, uint32_t at)
{
    const struct calltree_node *n = &t->nodes[at];

    if (n->child != CALLTREE_NONE)
        return n->child;
    while (n->sibling == CALLTREE_NONE && n->parent != CALLTREE_NONE)
        n = &t->nodes[n->parent];
    return n->sibling;
}
