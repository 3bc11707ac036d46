/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the rows of a view, and adds up rows with equal frames. */
#include "base/array.h"
#include "base/cleanup.h"
#include "profile/view_impl.h"

/* Some frames, root first. */
struct frames {
    const uint32_t *p;
    uint32_t n;
};

/* Compares frames by name, root first, then by frame id. A prefix precedes longer lists.
 * *ret_names: the result by names only. */
static int frames_compare(const struct view *v, struct frames x, struct frames y, int *ret_names)
{
    uint32_t n = MIN(x.n, y.n);

    *ret_names = 0;
    for (uint32_t i = 0; i < n && !*ret_names; i++)
        if (x.p[i] != y.p[i] && v->frames[x.p[i]].name != v->frames[y.p[i]].name)
            *ret_names = v->frames[x.p[i]].name < v->frames[y.p[i]].name ? -1 : 1;
    if (!*ret_names && x.n != y.n)
        *ret_names = x.n < y.n ? -1 : 1;
    for (uint32_t i = 0; i < n && !*ret_names; i++)
        if (x.p[i] != y.p[i])
            return x.p[i] < y.p[i] ? -1 : 1;
    return *ret_names;
}

static struct frames body_frames(const struct view_builder *b, uint32_t body)
{
    return (struct frames){ b->v->stack + b->spelled[body].first, b->spelled[body].n };
}

static struct frames root_frames(const struct view_builder *b, uint32_t root)
{
    return (struct frames){ b->roots[root].frames, b->roots[root].n };
}

/* ---- ranks of bodies and roots, which many rows share ---- */

typedef struct frames (*frames_of_fn)(const struct view_builder *b, uint32_t i);

struct ranks {
    const struct view_builder *b;
    frames_of_fn frames_of;
    uint32_t *rank;      /* [all]: rank; equal for equal frames */
    uint32_t *name_rank; /* [all]: rank by names; equal for equal names */
    uint32_t count;      /* number of different ranks */
};

static void ranks_deinit(struct ranks *k)
{
    free(k->rank);
    free(k->name_rank);
}

static int ranks_compare(const void *x, const void *y, void *cookie)
{
    const struct ranks *k = cookie;
    int names;

    return frames_compare(k->b->v, k->frames_of(k->b, *(const uint32_t *)x),
                          k->frames_of(k->b, *(const uint32_t *)y), &names);
}

/* Ranks the entries of @all with @used set. */
static int ranks_init(struct ranks *k, const uint8_t *used, size_t all)
{
    _cleanup_free_ uint32_t *order = calloc(all + 1, sizeof(*order));
    uint32_t n = 0, before = 0;

    k->rank = calloc(all + 1, sizeof(*k->rank));
    k->name_rank = calloc(all + 1, sizeof(*k->name_rank));
    if (!order || !k->rank || !k->name_rank)
        return -ENOMEM;
    for (size_t i = 0; i < all; i++)
        if (used[i])
            order[n++] = (uint32_t)i;
    qsort_r(order, n, sizeof(*order), ranks_compare, k);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = order[i];
        int names = 0;

        if (!i ||
            frames_compare(k->b->v, k->frames_of(k->b, before), k->frames_of(k->b, at), &names))
            k->count++;
        k->rank[at] = k->count - 1;
        k->name_rank[at] = i ? k->name_rank[before] + (names != 0) : 0;
        before = at;
    }
    return 0;
}

/* ---- rows ---- */

/* Sort key of a row, in this order. */
struct row_key {
    uint64_t names;  /* ranks of its roots and its body, by name */
    uint64_t frames; /* ranks of its roots and its body, by frame */
    uint32_t thread, owner;
    uint32_t row;
    uint32_t state : 4, kind : 4, context : 24;
};

static int by_number(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

static int row_key_compare(const void *x, const void *y)
{
    const struct row_key *a = x, *c = y;

    if (a->names != c->names)
        return by_number(a->names, c->names);
    if (a->frames != c->frames)
        return by_number(a->frames, c->frames);
    if (a->thread != c->thread)
        return by_number(a->thread, c->thread);
    if (a->state != c->state)
        return by_number(a->state, c->state);
    if (a->kind != c->kind)
        return by_number(a->kind, c->kind);
    if (a->owner != c->owner)
        return by_number(a->owner, c->owner);
    return by_number(a->context, c->context);
}

/* Compares whole rows. Needed if the number of roots differs: then a root of one row is compared
 * with a body of the other. */
static int row_compare(const void *x, const void *y, void *cookie)
{
    const struct view *v = cookie;
    const struct view_row *a = &v->rows[((const struct row_key *)x)->row],
                          *c = &v->rows[((const struct row_key *)y)->row];
    int names, r = frames_compare(v, (struct frames){ v->stack + a->first, a->n },
                                  (struct frames){ v->stack + c->first, c->n }, &names);

    if (r == 0)
        r = by_number(a->thread, c->thread);
    if (r == 0)
        r = by_number(a->state, c->state);
    if (r == 0)
        r = by_number(a->kind, c->kind);
    if (r == 0)
        r = by_number(a->owner, c->owner);
    return r ? r : by_number(a->context, c->context);
}

/* Sets the body numbers of the rows, and makes their sort keys. */
static int view_rank_rows(struct view_builder *b, struct row_key **ret)
{
    struct view *v = b->v;
    size_t bodies = view_bodies(b);
    _cleanup_(ranks_deinit) struct ranks body = { .b = b, .frames_of = body_frames };
    _cleanup_(ranks_deinit) struct ranks root = { .b = b, .frames_of = root_frames };
    _cleanup_free_ uint8_t *used_bodies = calloc(bodies + 1, 1),
                           *used_roots = calloc(b->root_count, 1);
    struct row_key *keys = calloc(v->row_count + 1, sizeof(*keys));

    *ret = keys;
    if (!used_bodies || !used_roots || !keys)
        return -ENOMEM;
    for (size_t i = 0; i < v->row_count; i++)
        used_bodies[v->rows[i].body] = used_roots[b->root_of_row[i]] = 1;
    if (ranks_init(&body, used_bodies, bodies) < 0 || ranks_init(&root, used_roots, b->root_count))
        return -ENOMEM;
    v->body_count = body.count;
    for (size_t i = 0; i < v->row_count; i++) {
        uint32_t at = b->root_of_row[i], of = v->rows[i].body;

        keys[i] =
            (struct row_key){ .names = (uint64_t)root.name_rank[at] << 32 | body.name_rank[of],
                              .frames = (uint64_t)root.rank[at] << 32 | body.rank[of],
                              .thread = v->rows[i].thread,
                              .row = (uint32_t)i,
                              .state = v->rows[i].state,
                              .kind = v->rows[i].kind,
                              .owner = v->rows[i].owner,
                              .context = v->rows[i].context };
        v->rows[i].body = body.rank[of];
    }
    return 0;
}

static void view_sort_keys(const struct view *v, struct row_key *keys)
{
    size_t other = 0;

    for (size_t i = 1; i < v->row_count; i++)
        other += v->rows[i].roots != v->rows[0].roots;
    if (other)
        qsort_r(keys, v->row_count, sizeof(*keys), row_compare, (void *)(uintptr_t)v);
    else
        qsort(keys, v->row_count, sizeof(*keys), row_key_compare);
}

/* Takes the rows in the order of @keys and adds up equal ones: different frames of the profile may
 * have equal names. @row_at: by row.first, the index of the resulting row; NULL: not needed. */
static int view_take_rows(struct view *v, const struct row_key *keys, uint32_t *row_at)
{
    struct view_row *rows = calloc(v->row_count + 1, sizeof(*rows));
    size_t kept = 0;

    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < v->row_count; i++) {
        const struct view_row *row = &v->rows[keys[i].row];

        if (i && row_key_compare(&keys[i - 1], &keys[i]) == 0) {
            rows[kept - 1].samples += row->samples;
            rows[kept - 1].value += row->value;
            rows[kept - 1].inferred += row->inferred;
            rows[kept - 1].unsure += row->unsure;
        } else {
            rows[kept++] = *row;
        }
        if (row_at)
            row_at[row->first] = (uint32_t)kept - 1;
    }
    free(v->rows);
    v->rows = rows;
    v->row_count = kept;
    return 0;
}

/* Replaces the key of each sample by its row, found by the first frame of the row. */
static void view_place_samples(struct view_builder *b, const uint32_t *row_at)
{
    uint32_t *rows = b->v->sample_rows;

    for (size_t i = 0; i < b->p->sample_count; i++) {
        uint32_t first = rows[i] == VIEW_NO_ROW ? VIEW_NO_ROW : b->key_first[rows[i]];

        rows[i] = first == VIEW_NO_ROW ? VIEW_NO_ROW : row_at[first];
    }
}

int view_order_rows(struct view_builder *b)
{
    _cleanup_free_ struct row_key *keys = NULL;
    _cleanup_free_ uint32_t *row_at = NULL;
    struct view *v = b->v;
    size_t cap = 0;
    int r;

    if (v->sample_rows && !array_extend(&row_at, &cap, MAX(v->stack_words, (size_t)1)))
        return -ENOMEM;
    r = view_rank_rows(b, &keys);
    if (r < 0)
        return r;
    view_sort_keys(v, keys);
    r = view_take_rows(v, keys, row_at);
    if (r == 0 && row_at)
        view_place_samples(b, row_at);
    return r;
}
