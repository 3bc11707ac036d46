/* SPDX-License-Identifier: Apache-2.0 */
#include "render/shared_stacks.h"

int shared_stacks_init(struct shared_stacks *b, const struct view *v)
{
    *b = (struct shared_stacks){ .v = v, .row = calloc(v->body_count + 1, sizeof(*b->row)) };
    if (!b->row)
        return -ENOMEM;
    for (size_t r = v->row_count; r > 0; r--)
        b->row[v->rows[r - 1].body] = (uint32_t)r - 1;
    return 0;
}

void shared_stacks_deinit(struct shared_stacks *b)
{
    free(b->row);
}

const uint32_t *shared_stacks_frames(const struct shared_stacks *b, uint32_t body, uint32_t *ret_n)
{
    const struct view_row *row = &b->v->rows[b->row[body]];

    *ret_n = row->n - row->roots;
    return b->v->stack + row->first + row->roots;
}

uint32_t shared_stacks_shared(const struct shared_stacks *b, uint32_t body)
{
    const uint32_t *before, *frames;
    uint32_t m, n, i = 0;

    if (!body)
        return 0;
    before = shared_stacks_frames(b, body - 1, &m);
    frames = shared_stacks_frames(b, body, &n);
    while (i < m && i < n && before[i] == frames[i])
        i++;
    return i;
}

size_t shared_stacks_run_end(const struct shared_stacks *b, size_t row)
{
    const struct view *v = b->v;
    const struct view_row *first = &v->rows[row];
    const uint32_t *roots = v->stack + first->first;
    size_t end = row + 1;

    while (end < v->row_count && v->rows[end].roots == first->roots &&
           v->rows[end].body >= v->rows[end - 1].body &&
           !memcmp(v->stack + v->rows[end].first, roots, first->roots * sizeof(*roots)))
        end++;
    return end;
}
