/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/rebase.h"

#include "profile/record_impl.h"

struct rebase {
    const struct frame_table *from;
    struct frame_table *to;
    struct frame_table_counts counts; /* of @from */
    uint32_t *frames, *strings;       /* new id + 1 by the old one; 0: not added */
};

int rebase_new(const struct frame_table *from, struct frame_table *to, struct rebase **ret)
{
    struct rebase *b = calloc(1, sizeof(*b));

    if (!b)
        return -ENOMEM;
    b->from = from;
    b->to = to;
    frame_table_counts(from, &b->counts);
    b->frames = calloc(b->counts.frames, sizeof(*b->frames));
    b->strings = calloc(MAX(b->counts.strings, 1u), sizeof(*b->strings));
    if (!b->frames || !b->strings) {
        rebase_free(b);
        return -ENOMEM;
    }
    *ret = b;
    return 0;
}

struct rebase *rebase_free(struct rebase *b)
{
    if (!b)
        return NULL;
    free(b->frames);
    free(b->strings);
    free(b);
    return NULL;
}

/* ---- the first step ---- */

static int add_string(void *rebase, uint32_t *string)
{
    struct rebase *b = rebase;
    uint32_t old = *string, id = 0;
    int r;

    *string = 0;
    if (old >= b->counts.strings)
        return 0;
    if (!b->strings[old]) {
        r = frame_table_string(b->to, frame_table_get_string(b->from, old), &id);
        if (r < 0)
            return r;
        b->strings[old] = id + 1;
    }
    *string = b->strings[old] - 1;
    return 0;
}

static int add_module(struct rebase *b, uint32_t module, uint32_t *ret)
{
    struct module m = *frame_table_get_module(b->from, module);
    int r = module_each_string(&m, add_string, b);

    return r < 0 ? r : frame_table_module(b->to, &m, ret);
}

static int add_route(struct rebase *b, uint32_t function, uint32_t to)
{
    uint32_t route = frame_table_get_route(b->from, function);
    int r = route && route != FUNCTION_ROUTE_NONE ? add_string(b, &route) : 0;

    if (r == 0 && route)
        frame_table_set_route(b->to, to, route);
    return r;
}

static int add_function(struct rebase *b, uint32_t function, uint32_t *ret)
{
    struct function f = *frame_table_get_function(b->from, function);
    int r = function_each_string(&f, add_string, b) ?: add_module(b, f.module, &f.module);

    return r < 0 ? r : frame_table_function(b->to, &f, ret) ?: add_route(b, function, *ret);
}

int rebase_add_frame(struct rebase *b, uint32_t frame)
{
    struct frame f;
    uint32_t id;
    int r;

    if (frame >= b->counts.frames || b->frames[frame])
        return 0; /* an id that is not in the table, or is converted already */
    f = *frame_table_get(b->from, frame);
    r = add_function(b, f.function, &f.function) ?: frame_table_frame(b->to, &f, &id);
    if (r < 0)
        return r;
    b->frames[frame] = id + 1;
    return 0;
}

int rebase_add_record(struct rebase *b, const struct record *r)
{
    int k = 0;

    for (uint32_t i = 1; i < r->nodes.count && k == 0; i++)
        k = rebase_add_frame(b, ((const struct record_node *)id_table_get(&r->nodes, i))->frame);
    for (uint32_t i = 0; i < r->processes.count && k == 0; i++) {
        struct profile_process p = *(const struct profile_process *)id_table_get(&r->processes, i);

        k = process_each_string(&p, add_string, b);
    }
    for (uint32_t i = 0; i < r->threads.count && k == 0; i++) {
        struct profile_thread t = *(const struct profile_thread *)id_table_get(&r->threads, i);

        k = add_string(b, &t.name);
    }
    for (size_t i = 0; i < r->moment_count && k == 0; i++) {
        struct profile_moment m = r->moments[i];

        k = moment_each_string(&m, add_string, b);
    }
    return k;
}

/* ---- the second step ---- */

uint32_t rebase_frame(const struct rebase *b, uint32_t frame)
{
    if (frame >= RECORD_LATER)
        return frame;
    return frame < b->counts.frames && b->frames[frame] ? b->frames[frame] - 1 : 0;
}

static int move_string(void *rebase, uint32_t *string)
{
    const struct rebase *b = *(const struct rebase *const *)rebase;

    *string = *string < b->counts.strings && b->strings[*string] ? b->strings[*string] - 1 : 0;
    return 0;
}

void record_rebase(struct record *r, const struct rebase *b)
{
    for (uint32_t i = 1; i < r->nodes.count; i++) {
        struct record_node *n = id_table_at(&r->nodes, i);

        n->frame = rebase_frame(b, n->frame);
    }
    for (uint32_t i = 0; i < r->processes.count; i++)
        process_each_string(id_table_at(&r->processes, i), move_string, &b);
    for (uint32_t i = 0; i < r->threads.count; i++)
        move_string(&b, &((struct profile_thread *)id_table_at(&r->threads, i))->name);
    for (size_t i = 0; i < r->moment_count; i++)
        moment_each_string(&r->moments[i], move_string, &b);
    /* The conversion keeps distinct ids distinct, so no two keys became equal. */
    id_table_rehash(&r->nodes);
    id_table_rehash(&r->processes);
    id_table_rehash(&r->threads);
    r->table = b->to;
}
