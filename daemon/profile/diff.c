/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/diff.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/id_table.h"
#include "profile/top_functions.h"

#define DIFF_STRING_BYTES_MAX ((size_t)256 << 20)

struct node_key {
    uint32_t parent, name;
};

struct diff_builder {
    struct diff *d;
    struct id_table keys; /* struct node_key; the index of a node is the id of its key + 1 */
    size_t nodes_cap;
    bool reverse;
};

static int node_of(struct diff_builder *b, uint32_t parent, uint32_t name, uint32_t kind,
                   uint32_t *ret)
{
    struct node_key key = { parent, name };
    struct diff *d = b->d;
    uint32_t id;
    int r = id_table_add(&b->keys, &key, &id);

    if (r < 0)
        return r == -ENOSPC ? -EFBIG : r;
    if (id + 1 == d->node_count) {
        if (!array_grow(&d->nodes, &b->nodes_cap, d->node_count + 1, b->nodes_cap))
            return -ENOMEM;
        d->nodes[d->node_count++] = (struct diff_node){
            .parent = parent, .name = name, .kind = kind, .depth = d->nodes[parent].depth + 1
        };
    }
    *ret = id + 1;
    return 0;
}

/* Copies the names of @v to the diff. *ret: id in the diff by id in @v; the caller frees it. */
static int translate_names(struct diff *d, const struct view *v, uint32_t **ret)
{
    uint32_t n = intern_count(v->strings);
    _cleanup_free_ uint32_t *ids = calloc((size_t)n + 1, sizeof(*ids));

    if (!ids)
        return -ENOMEM;
    for (uint32_t i = 1; i < n; i++) {
        int r = intern_add(d->strings, intern_get(v->strings, i), &ids[i]);

        if (r < 0)
            return r == -ENOSPC ? -EFBIG : r;
    }
    *ret = TAKE_PTR(ids);
    return 0;
}

static int add_view(struct diff_builder *b, const struct view *v, bool is_b)
{
    _cleanup_free_ uint32_t *names = NULL;
    int r = translate_names(b->d, v, &names);

    for (size_t i = 0; i < v->row_count && r == 0; i++) {
        const struct view_row *row = &v->rows[i];
        uint64_t weight = v->opts.total ? row->value : row->samples;
        uint32_t node = 0;

        for (uint32_t k = 0; k < row->n && r == 0; k++) {
            uint32_t at = row->first + (b->reverse ? row->n - 1 - k : k);
            const struct view_frame *f = &v->frames[v->stack[at]];

            r = node_of(b, node, names[f->name], f->kind, &node);
        }
        if (r == 0 && is_b)
            b->d->nodes[node].b_self += weight;
        else if (r == 0)
            b->d->nodes[node].a_self += weight;
    }
    return r;
}

/* Adds each node's weight to its parent. Parents precede their children in the list, so one pass
 * from its end is enough. */
static void add_up(struct diff *d)
{
    for (size_t i = d->node_count; i > 0; i--) {
        struct diff_node *n = &d->nodes[i - 1];

        n->a += n->a_self;
        n->b += n->b_self;
        if (i > 1) {
            d->nodes[n->parent].a += n->a;
            d->nodes[n->parent].b += n->b;
        }
    }
    d->a = d->nodes[0].a;
    d->b = d->nodes[0].b;
}

static int sibling_cmp(const void *a, const void *b, void *ctx)
{
    const struct diff *d = ctx;
    const struct diff_node *x = &d->nodes[*(const uint32_t *)a],
                           *y = &d->nodes[*(const uint32_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return span_compare(diff_string(d, x->name), diff_string(d, y->name));
}

/* Links each node's children, sorted by name. */
static int link_children(struct diff *d)
{
    _cleanup_free_ uint32_t *order = calloc(d->node_count, sizeof(*order));

    if (!order)
        return -ENOMEM;
    for (size_t i = 1; i < d->node_count; i++)
        order[i - 1] = (uint32_t)i;
    qsort_r(order, d->node_count - 1, sizeof(*order), sibling_cmp, d);
    for (size_t i = d->node_count - 1; i > 0; i--) {
        struct diff_node *n = &d->nodes[order[i - 1]], *parent = &d->nodes[n->parent];

        n->sibling = parent->child;
        parent->child = order[i - 1];
    }
    return 0;
}

/* ---- functions ---- */

static double change_of(const struct diff *d, const struct diff_function *f)
{
    double self = diff_delta(d, f->a_self, f->b_self);

    return self < 0 ? -self : self;
}

static int change_cmp(const void *a, const void *b, void *ctx)
{
    const struct diff_function *x = a, *y = b;
    const struct diff *d = ctx;
    double s = change_of(d, x), t = change_of(d, y);

    if (s != t)
        return s < t ? 1 : -1;
    s = diff_delta(d, x->a, x->b);
    t = diff_delta(d, y->a, y->b);
    s = s < 0 ? -s : s;
    t = t < 0 ? -t : t;
    if (s != t)
        return s < t ? 1 : -1;
    return span_compare(diff_string(d, x->name), diff_string(d, y->name));
}

static int add_functions(struct diff *d, const struct view *v, bool is_b,
                         struct diff_function *by_name)
{
    _cleanup_free_ struct top_function *list = NULL;
    size_t count = 0;
    int r = top_functions(v, &list, &count);

    for (size_t i = 0; i < count && r == 0; i++) {
        struct diff_function *f;
        uint32_t name;

        r = intern_add(d->strings, view_string(v, list[i].name), &name);
        if (r < 0)
            break;
        f = &by_name[name];
        f->name = name;
        f->kind = list[i].kind;
        *(is_b ? &f->b : &f->a) = list[i].total;
        *(is_b ? &f->b_self : &f->a_self) = list[i].self;
    }
    return r;
}

static int list_functions(struct diff *d, const struct view *a, const struct view *b)
{
    uint32_t names = intern_count(d->strings);
    int r;

    d->functions = calloc((size_t)names + 1, sizeof(*d->functions));
    if (!d->functions)
        return -ENOMEM;
    r = add_functions(d, a, /* is_b= */ false, d->functions)
            ?: add_functions(d, b, /* is_b= */ true, d->functions);
    for (uint32_t i = 0; i < names; i++) {
        if (d->functions[i].a || d->functions[i].b)
            d->functions[d->function_count++] = d->functions[i];
    }
    qsort_r(d->functions, d->function_count, sizeof(*d->functions), change_cmp, d);
    return r;
}

/* Returns whether each sample of @v stands for one period. */
static bool is_even(const struct view *v)
{
    return !v->opts.total && !view_event(v)->valued && view_event(v)->period;
}

/* Sets the unit of weights, and the value of one unit of weight on each side. */
static void set_worth(struct diff *d, const struct view *a, const struct view *b)
{
    bool same = strcmp(d->event_a->unit, d->event_b->unit) == 0;

    d->worth_a = d->worth_b = 1;
    d->by_value_a = a->opts.total;
    d->by_value_b = b->opts.total;
    if (a->opts.total != b->opts.total) {
        d->unit = "";
    } else if (d->by_value_b) {
        d->unit = same ? d->event_b->unit : "";
    } else if (same && is_even(a) && is_even(b)) {
        d->unit = d->event_b->unit;
        d->worth_a = d->event_a->period;
        d->worth_b = d->event_b->period;
    } else {
        d->unit = "samples";
    }
}

static void say_mixed(struct diff *d)
{
    if (strcmp(d->event_a->name, d->event_b->name) != 0)
        snprintf(d->mixed, sizeof(d->mixed),
                 "a shows event=%.48s and b event=%.48s, which count different things: choose one "
                 "that both have with event=",
                 d->event_a->name, d->event_b->name);
}

const char *diff_warning(const struct diff *d, size_t i, enum diff_side *ret_side)
{
    const char *const both[] = { d->mixed, d->note };

    *ret_side = DIFF_BOTH;
    for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
        if (both[k][0] && i-- == 0)
            return both[k];
    }
    *ret_side = i < d->view_a->warning_count ? DIFF_A : DIFF_B;
    if (*ret_side == DIFF_A)
        return d->view_a->warnings[i];
    i -= d->view_a->warning_count;
    return i < d->view_b->warning_count ? d->view_b->warnings[i] : NULL;
}

int diff_new(const struct view *a, const struct view *b, const struct diff_opts *o,
             struct diff **ret, struct error *err)
{
    _cleanup_(diff_freep) struct diff *d = calloc(1, sizeof(*d));
    struct diff_builder builder = { .d = d, .nodes_cap = 1024, .reverse = o->reverse };
    int r = -ENOMEM;

    if (!d)
        return error_set(err, -ENOMEM, "not enough memory to compare these profiles");
    d->profile_a = profile_ref(a->profile);
    d->profile_b = profile_ref(b->profile);
    d->view_a = a;
    d->view_b = b;
    d->note = o->note ? o->note : "";
    d->event_a = view_event(a);
    d->event_b = view_event(b);
    say_mixed(d);
    set_worth(d, a, b);
    d->nodes = calloc(builder.nodes_cap, sizeof(*d->nodes));
    d->node_count = 1;
    d->scale = 1;
    id_table_init(&builder.keys, sizeof(struct node_key), DIFF_NODES_MAX);
    if (d->nodes)
        r = intern_new(DIFF_STRING_BYTES_MAX, &d->strings);
    if (r == 0)
        r = add_view(&builder, a, /* is_b= */ false);
    if (r == 0)
        r = add_view(&builder, b, /* is_b= */ true);
    id_table_deinit(&builder.keys);
    if (r == 0) {
        add_up(d);
        if (!o->absolute && d->a && d->b)
            d->scale = (double)d->b / (double)d->a;
        r = link_children(d);
    }
    if (r == 0)
        r = list_functions(d, a, b);
    if (r < 0)
        return error_code(err, r, "cannot compare these profiles");
    *ret = TAKE_PTR(d);
    return 0;
}

struct diff *diff_free(struct diff *d)
{
    if (!d)
        return NULL;
    profile_unref(d->profile_a);
    profile_unref(d->profile_b);
    intern_free(d->strings);
    free(d->nodes);
    free(d->functions);
    free(d);
    return NULL;
}
