/* SPDX-License-Identifier: Apache-2.0 */
#include "store/dictionary.h"

#include "base/cleanup.h"
#include "profile/import_frames.h"
#include "store/blob.h"

#define FRAME_LEAF_SHIFT 8 /* bit of the leaf in a frame's stored kind; below: kind, unknown */
_Static_assert(FRAME_KIND_COUNT <= 1 << (FRAME_LEAF_SHIFT - 1), "a kind takes the bits below");

int dictionary_new(int64_t id, struct dictionary **ret)
{
    struct dictionary *e = calloc(1, sizeof(*e));
    struct dictionary_node root = { 0 };
    uint32_t node;
    int r;

    if (!e)
        return -ENOMEM;
    e->id = id;
    id_table_init(&e->nodes, sizeof(struct dictionary_node), DICTIONARY_NODES_MAX);
    r = frame_table_new(DICTIONARY_ENTRIES_MAX, DICTIONARY_STRING_BYTES_MAX, &e->table)
            ?: MIN(id_table_add(&e->nodes, &root, &node), 0);
    if (r < 0) {
        dictionary_free(e);
        return r;
    }
    dictionary_mark_saved(e); /* every dictionary begins with the nameless entries */
    *ret = e;
    return 0;
}

struct dictionary *dictionary_free(struct dictionary *e)
{
    if (!e)
        return NULL;
    frame_table_free(e->table);
    id_table_deinit(&e->nodes);
    free(e);
    return NULL;
}

size_t dictionary_bytes(const struct dictionary *e)
{
    return frame_table_bytes(e->table) + id_table_bytes(&e->nodes);
}

int dictionary_add_stacks(struct dictionary *e, const struct profile *p, uint32_t *ret_nodes)
{
    _cleanup_(frame_importer_deinit) struct frame_importer frames;
    int r = frame_importer_init(&frames, p, e->table);

    ret_nodes[0] = 0;
    for (size_t i = 1; i < p->stack_count && r == 0; i++) { /* callers come before callees */
        struct dictionary_node n = { .parent = ret_nodes[p->stacks[i].parent] };

        r = frame_import(&frames, p->stacks[i].frame, &n.frame);
        if (r == 0)
            r = MIN(id_table_add(&e->nodes, &n, &ret_nodes[i]), 0);
    }
    return r;
}

int dictionary_add_string(struct dictionary *e, struct span s, uint32_t *ret)
{
    int r = frame_table_string(e->table, s, ret);

    e->left_out += r < 0;
    return r;
}

void dictionary_add_process(struct dictionary *e, const struct profile *p,
                            struct profile_process *process)
{
    uint32_t *const strings[] = { &process->name, &process->container, &process->pod,
                                  &process->pod_namespace, &process->service };

    for (size_t i = 0; i < ARRAY_SIZE(strings); i++) /* stays "" if the dictionary is full */
        dictionary_add_string(e, intern_get(p->strings, *strings[i]), strings[i]);
    process->version = process->attributes = 0;
}

void process_encode(const struct profile_process *p, struct buf *out)
{
    blob_add_number(out, (uint32_t)p->host_pid);
    blob_add_number(out, p->start_ticks);
    blob_add_number(out, p->exec_no);
    blob_add_number(out, p->name);
    blob_add_number(out, p->container);
    blob_add_number(out, p->pod);
    blob_add_number(out, p->pod_namespace);
    blob_add_number(out, p->service);
}

bool process_decode(struct span *s, bool services, struct profile_process *p)
{
    uint32_t pid;

    if (!blob_take_u32(s, &pid) || pid > INT32_MAX || !blob_take_number(s, &p->start_ticks) ||
        !blob_take_u32(s, &p->exec_no) || !blob_take_u32(s, &p->name) ||
        !blob_take_u32(s, &p->container) || !blob_take_u32(s, &p->pod) ||
        !blob_take_u32(s, &p->pod_namespace) || (services && !blob_take_u32(s, &p->service)))
        return false;
    p->host_pid = (int32_t)pid;
    return true;
}

int dictionary_places_init(struct dictionary_places *d, const struct dictionary *e,
                           struct record *record)
{
    *d = (struct dictionary_places){ .e = e,
                                     .record = record,
                                     .of = calloc(e->nodes.count, sizeof(*d->of)),
                                     .path = calloc(DICTIONARY_DEPTH_MAX, sizeof(*d->path)) };
    return d->of && d->path ? 0 : -ENOMEM;
}

void dictionary_places_deinit(struct dictionary_places *d)
{
    free(d->of);
    free(d->path);
    d->of = d->path = NULL;
}

/* Gets the place of @node in the record. Ends because a node's parent has a smaller id. */
static int dictionary_place(struct dictionary_places *d, uint32_t node, uint32_t *ret)
{
    const struct dictionary_node *at;
    uint32_t place = 0;
    size_t n = 0;
    int r = 0;

    for (; node && !d->of[node] && n < DICTIONARY_DEPTH_MAX; node = at->parent) {
        at = id_table_get(&d->e->nodes, node);
        d->path[n++] = node;
    }
    if (node && d->of[node])
        place = d->of[node] - 1;
    while (n > 0 && r == 0) {
        at = id_table_get(&d->e->nodes, d->path[--n]);
        r = record_place(d->record, place, at->frame, &place);
        if (r == 0)
            d->of[d->path[n]] = place + 1;
    }
    *ret = place;
    return r;
}

int dictionary_sample(struct dictionary_places *d, const struct profile_sample *s, uint32_t node)
{
    struct profile_sample at = *s;
    uint32_t place = 0;
    int r = node < d->e->nodes.count ? dictionary_place(d, node, &place) : -EBADMSG;

    if (r == -ENOSPC)
        record_drop(d->record, s->count);
    at.stack = place;
    return r == 0 ? record_sample_at(d->record, &at) : r;
}

void dictionary_mark_saved(struct dictionary *e)
{
    frame_table_counts(e->table, &e->saved);
    e->saved_nodes = e->nodes.count;
}

bool dictionary_has_additions(const struct dictionary *e)
{
    struct frame_table_counts now;

    frame_table_counts(e->table, &now);
    return e->nodes.count != e->saved_nodes || memcmp(&now, &e->saved, sizeof(now)) != 0;
}

void dictionary_additions(const struct dictionary *e, struct buf *out)
{
    struct frame_table_counts now;

    frame_table_counts(e->table, &now);
    blob_add_number(out, now.strings - e->saved.strings);
    for (uint32_t i = e->saved.strings; i < now.strings; i++)
        blob_add_text(out, frame_table_get_string(e->table, i));
    blob_add_number(out, now.modules - e->saved.modules);
    for (uint32_t i = e->saved.modules; i < now.modules; i++) {
        const struct module *m = frame_table_get_module(e->table, i);

        blob_add_number(out, m->path);
        blob_add_number(out, m->build_id);
    }
    blob_add_number(out, now.functions - e->saved.functions);
    for (uint32_t i = e->saved.functions; i < now.functions; i++) {
        const struct function *f = frame_table_get_function(e->table, i);

        blob_add_number(out, f->class_name);
        blob_add_number(out, f->name);
        blob_add_number(out, f->signature);
        blob_add_number(out, f->file);
        blob_add_number(out, f->module);
    }
    blob_add_number(out, now.frames - e->saved.frames);
    for (uint32_t i = e->saved.frames; i < now.frames; i++) {
        const struct frame *f = frame_table_get(e->table, i);

        blob_add_number(out, f->function);
        blob_add_number(out, f->line);
        blob_add_number(out, (uint64_t)f->leaf << FRAME_LEAF_SHIFT | (uint64_t)f->kind << 1 |
                                 (f->unknown & 1));
    }
    blob_add_number(out, e->nodes.count - e->saved_nodes);
    for (uint32_t i = e->saved_nodes; i < e->nodes.count; i++) {
        const struct dictionary_node *n = id_table_get(&e->nodes, i);

        blob_add_number(out, n->parent);
        blob_add_number(out, n->frame);
    }
    if (now.routes == e->saved.routes)
        return; /* as in files that are older than routes */
    blob_add_number(out, now.routes - e->saved.routes);
    for (uint32_t i = e->saved.routes; i < now.routes; i++) {
        const struct function_route *set = frame_table_get_set_route(e->table, i);

        blob_add_number(out, set->function);
        blob_add_number(out, set->route == FUNCTION_ROUTE_NONE ? 0 : set->route);
    }
}

/* ---- replaying: each entry must get its former id, and refer to earlier entries only ---- */

/* Takes one entry and adds it; *ret_id gets its id. @have: the counts before this list. Returns 0,
 * -EBADMSG, -ENOSPC or -ENOMEM. */
typedef int (*replay_fn)(struct dictionary *e, const struct frame_table_counts *have,
                         struct span *s, uint32_t *ret_id);

static int replay_string(struct dictionary *e, const struct frame_table_counts *have,
                         struct span *s, uint32_t *ret_id)
{
    struct span text;

    (void)have;
    return blob_take_text(s, &text) ? frame_table_string(e->table, text, ret_id) : -EBADMSG;
}

static int replay_module(struct dictionary *e, const struct frame_table_counts *have,
                         struct span *s, uint32_t *ret_id)
{
    struct module m = { 0 };

    if (!blob_take_u32(s, &m.path) || !blob_take_u32(s, &m.build_id) || m.path >= have->strings ||
        m.build_id >= have->strings)
        return -EBADMSG;
    return frame_table_module(e->table, &m, ret_id);
}

static int replay_function(struct dictionary *e, const struct frame_table_counts *have,
                           struct span *s, uint32_t *ret_id)
{
    struct function f = { 0 };

    if (!blob_take_u32(s, &f.class_name) || !blob_take_u32(s, &f.name) ||
        !blob_take_u32(s, &f.signature) || !blob_take_u32(s, &f.file) ||
        !blob_take_u32(s, &f.module) || f.class_name >= have->strings || f.name >= have->strings ||
        f.signature >= have->strings || f.file >= have->strings || f.module >= have->modules)
        return -EBADMSG;
    return frame_table_function(e->table, &f, ret_id);
}

static int replay_frame(struct dictionary *e, const struct frame_table_counts *have, struct span *s,
                        uint32_t *ret_id)
{
    struct frame f = { 0 };
    uint32_t kind, leaf;

    if (!blob_take_u32(s, &f.function) || !blob_take_u32(s, &f.line) || !blob_take_u32(s, &kind))
        return -EBADMSG;
    leaf = kind >> FRAME_LEAF_SHIFT;
    kind &= (1U << FRAME_LEAF_SHIFT) - 1;
    if (f.function >= have->functions || kind >> 1 >= FRAME_KIND_COUNT || leaf >= FRAME_LEAF_COUNT)
        return -EBADMSG;
    f.kind = (uint8_t)(kind >> 1);
    f.unknown = kind & 1;
    f.leaf = (uint8_t)leaf;
    return frame_table_frame(e->table, &f, ret_id);
}

static int replay_node(struct dictionary *e, const struct frame_table_counts *have, struct span *s,
                       uint32_t *ret_id)
{
    struct dictionary_node n;

    if (!blob_take_u32(s, &n.parent) || !blob_take_u32(s, &n.frame) || n.parent >= e->nodes.count ||
        n.frame >= have->frames)
        return -EBADMSG;
    return MIN(id_table_add(&e->nodes, &n, ret_id), 0);
}

static int replay_route(struct dictionary *e, const struct frame_table_counts *have, struct span *s,
                        uint32_t *ret_id)
{
    struct frame_table_counts now;
    uint32_t function, route;

    if (!blob_take_u32(s, &function) || !blob_take_u32(s, &route) || function >= have->functions ||
        route >= have->strings)
        return -EBADMSG;
    frame_table_set_route(e->table, function, route ? route : FUNCTION_ROUTE_NONE);
    frame_table_counts(e->table, &now);
    *ret_id = now.routes - 1;
    return 0;
}

/* Replays each list. The last list may be missing. */
int dictionary_replay(struct dictionary *e, struct span additions)
{
    static const replay_fn LISTS[] = { replay_string, replay_module, replay_function,
                                       replay_frame,  replay_node,   replay_route };
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(LISTS) && r == 0; i++) {
        struct frame_table_counts have;
        uint32_t first[ARRAY_SIZE(LISTS)], id;
        uint64_t count;

        frame_table_counts(e->table, &have);
        first[0] = have.strings;
        first[1] = have.modules;
        first[2] = have.functions;
        first[3] = have.frames;
        first[4] = e->nodes.count;
        first[5] = have.routes;
        if (i == 5 && !additions.n)
            break;
        if (!blob_take_number(&additions, &count))
            return -EBADMSG;
        for (uint64_t k = 0; k < count && r == 0; k++) {
            r = LISTS[i](e, &have, &additions, &id);
            if (r == 0 && id != first[i] + k)
                r = -EBADMSG;
        }
    }
    if (r == 0 && additions.n)
        r = -EBADMSG;
    if (r == 0)
        dictionary_mark_saved(e);
    return r == -ENOSPC ? -EBADMSG : r;
}

void dictionary_replayed(struct dictionary *e)
{
    for (uint32_t i = 1; i < e->saved.functions; i++) {
        if (!frame_table_get_route(e->table, i))
            frame_table_set_route(e->table, i, FUNCTION_ROUTE_NONE);
    }
}

void dictionary_seal(struct dictionary *e)
{
    frame_table_seal(e->table);
    id_table_seal(&e->nodes);
}
