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

static int add_string(struct rebase *b, uint32_t string, uint32_t *ret)
{
    uint32_t id = 0;
    int r;

    *ret = 0;
    if (string >= b->counts.strings)
        return 0;
    if (!b->strings[string]) {
        r = frame_table_string(b->to, frame_table_get_string(b->from, string), &id);
        if (r < 0)
            return r;
        b->strings[string] = id + 1;
    }
    *ret = b->strings[string] - 1;
    return 0;
}

static int add_module(struct rebase *b, uint32_t module, uint32_t *ret)
{
    struct module m = *frame_table_get_module(b->from, module);
    int r = add_string(b, m.path, &m.path);

    if (r == 0)
        r = add_string(b, m.build_id, &m.build_id);
    return r < 0 ? r : frame_table_module(b->to, &m, ret);
}

static int add_function(struct rebase *b, uint32_t function, uint32_t *ret)
{
    struct function f = *frame_table_get_function(b->from, function);
    int r = add_string(b, f.class_name, &f.class_name);

    if (r == 0)
        r = add_string(b, f.name, &f.name);
    if (r == 0)
        r = add_string(b, f.signature, &f.signature);
    if (r == 0)
        r = add_string(b, f.file, &f.file);
    if (r == 0)
        r = add_module(b, f.module, &f.module);
    return r < 0 ? r : frame_table_function(b->to, &f, ret);
}

int rebase_add_frame(struct rebase *b, uint32_t frame)
{
    struct frame f;
    uint32_t id;
    int r;

    if (frame >= b->counts.frames || b->frames[frame])
        return 0; /* none of the table's, or here already */
    f = *frame_table_get(b->from, frame);
    r = add_function(b, f.function, &f.function);
    if (r == 0)
        r = frame_table_frame(b->to, &f, &id);
    if (r < 0)
        return r;
    b->frames[frame] = id + 1;
    return 0;
}

static int add_process(struct rebase *b, const struct profile_process *p)
{
    uint32_t id;
    int r = add_string(b, p->name, &id);

    if (r == 0)
        r = add_string(b, p->container, &id);
    if (r == 0)
        r = add_string(b, p->pod, &id);
    if (r == 0)
        r = add_string(b, p->pod_namespace, &id);
    if (r == 0)
        r = add_string(b, p->service, &id);
    if (r == 0)
        r = add_string(b, p->version, &id);
    if (r == 0)
        r = add_string(b, p->attributes, &id);
    return r;
}

int rebase_add_record(struct rebase *b, const struct record *r)
{
    uint32_t id;
    int k = 0;

    for (uint32_t i = 1; i < r->nodes.count && k == 0; i++)
        k = rebase_add_frame(b, ((const struct record_node *)id_table_get(&r->nodes, i))->frame);
    for (uint32_t i = 0; i < r->processes.count && k == 0; i++)
        k = add_process(b, id_table_get(&r->processes, i));
    for (uint32_t i = 0; i < r->threads.count && k == 0; i++)
        k = add_string(b, ((const struct profile_thread *)id_table_get(&r->threads, i))->name, &id);
    for (size_t i = 0; i < r->moment_count && k == 0; i++) {
        k = add_string(b, r->moments[i].name, &id);
        if (k == 0)
            k = add_string(b, r->moments[i].by, &id);
        if (k == 0)
            k = add_string(b, r->moments[i].compiler, &id);
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

static uint32_t string_of(const struct rebase *b, uint32_t string)
{
    return string < b->counts.strings && b->strings[string] ? b->strings[string] - 1 : 0;
}

void record_rebase(struct record *r, const struct rebase *b)
{
    for (uint32_t i = 1; i < r->nodes.count; i++) {
        struct record_node *n = id_table_at(&r->nodes, i);

        n->frame = rebase_frame(b, n->frame);
    }
    for (uint32_t i = 0; i < r->processes.count; i++) {
        struct profile_process *p = id_table_at(&r->processes, i);

        p->name = string_of(b, p->name);
        p->container = string_of(b, p->container);
        p->pod = string_of(b, p->pod);
        p->pod_namespace = string_of(b, p->pod_namespace);
        p->service = string_of(b, p->service);
        p->version = string_of(b, p->version);
        p->attributes = string_of(b, p->attributes);
    }
    for (uint32_t i = 0; i < r->threads.count; i++) {
        struct profile_thread *t = id_table_at(&r->threads, i);

        t->name = string_of(b, t->name);
    }
    for (size_t i = 0; i < r->moment_count; i++) {
        struct profile_moment *m = &r->moments[i];

        m->name = string_of(b, m->name);
        m->by = string_of(b, m->by);
        m->compiler = string_of(b, m->compiler);
    }
    /* Different names are different in either table, so that no two became one. */
    id_table_rehash(&r->nodes);
    id_table_rehash(&r->processes);
    id_table_rehash(&r->threads);
    r->table = b->to;
}
