/* SPDX-License-Identifier: Apache-2.0 */
#include "render/proto/stacks.h"

#include "base/array.h"
#include "base/cleanup.h"

#define STACKS_TEXT_BYTES_MAX ((size_t)1 << 30)

static int stacks_grow_keys(struct stacks *s)
{
    uint32_t cap = s->key_cap ? s->key_cap * 2 : 1024;
    struct stacks_key *keys = reallocarray(s->keys, cap, sizeof(*keys));
    struct view_sum *sums;

    if (!keys)
        return -ENOMEM;
    s->keys = keys;
    sums = reallocarray(s->sums, cap, sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    s->sums = sums;
    s->key_cap = cap;
    return 0;
}

/* An item to add up: a sample, or a row if the view has no samples. */
struct stacks_item {
    uint32_t item, thread; /* thread STACKS_NONE: not known */
    uint32_t event, owner, request, handler, kind;
    struct view_sum sum;
};

static size_t items_of(const struct stacks *s)
{
    return s->v->sample_rows ? s->v->profile->sample_count : s->v->row_count;
}

/* Returns the stack of item @i; STACKS_NONE: left out. */
static uint32_t stack_at(const struct stacks *s, size_t i)
{
    uint32_t row = s->v->sample_rows ? s->v->sample_rows[i] : (uint32_t)i;

    return row == VIEW_NO_ROW ? STACKS_NONE : s->stack_of_row[row];
}

/* Returns stacks_key.request of a sample. */
static uint32_t request_of(const struct stacks *s, const struct profile_sample *sample)
{
    const struct profile *p = s->v->profile;

    if (s->requests == STACKS_NO_REQUESTS || sample->context >= p->context_count)
        return 0;
    if (s->requests == STACKS_OPERATIONS)
        return p->contexts[sample->context].operation;
    return p->contexts[sample->context].state >= PROFILE_CONTEXT_IDS ? sample->context : 0;
}

static struct stacks_item item_at(const struct stacks *s, size_t i)
{
    const struct profile *p = s->v->profile;
    struct stacks_item item = { .item = (uint32_t)i, .event = s->v->opts.event };
    size_t row = i;

    if (s->v->sample_rows) {
        item.thread = p->samples[i].thread;
        item.event = p->samples[i].event;
        item.owner = s->owners ? profile_lock_owner(p, &p->samples[i]) : 0;
        item.request = request_of(s, &p->samples[i]);
        item.handler = s->handlers ? handlers_of(s->handlers, &p->samples[i]) : 0;
        item.sum = (struct view_sum){ p->samples[i].count, p->samples[i].value };
        row = s->v->sample_rows[i];
    } else {
        item.thread = s->v->rows[i].thread;
        item.sum = (struct view_sum){ s->v->rows[i].samples, s->v->rows[i].value };
    }
    item.kind = s->v->rows[row].kind;
    if (item.thread >= p->thread_count)
        item.thread = STACKS_NONE;
    return item;
}

/* Sorts the items by stack; items of one stack keep their order. Items [ret_begins[k], ret_begins[k
 * + 1]) are those of stack k. An item has copies of the values needed, because the originals are
 * far apart in memory. */
static int stacks_order_items(const struct stacks *s, struct stacks_item **ret_order,
                              uint32_t **ret_begins)
{
    size_t n = items_of(s), stacks = intern_count(s->texts);
    _cleanup_free_ struct stacks_item *order = calloc(n + 1, sizeof(*order));
    _cleanup_free_ uint32_t *begins = calloc(stacks + 2, sizeof(*begins));

    if (!order || !begins)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t stack = stack_at(s, i);

        if (stack != STACKS_NONE)
            begins[stack + 2]++;
    }
    for (size_t k = 0; k < stacks; k++)
        begins[k + 2] += begins[k + 1];
    for (size_t i = 0; i < n; i++) { /* [k + 1]: the start of k before the loop, the end of k after
                                      * it */
        uint32_t stack = stack_at(s, i);

        if (stack != STACKS_NONE)
            order[begins[stack + 1]++] = item_at(s, i);
    }
    *ret_order = TAKE_PTR(order);
    *ret_begins = TAKE_PTR(begins);
    return 0;
}

/* Finds or adds @key. Returns a pointer to its number; NULL: no memory. */
static uint32_t *place_of_owned(struct stacks *s, const struct stacks_key *key)
{
    uint32_t id;

    if (id_table_add(&s->owned, key, &id) < 0 ||
        !array_extend(&s->key_of_owned, &s->owned_cap, s->owned.cap))
        return NULL;
    return &s->key_of_owned[id];
}

/* Adds up one stack's items by their threads, events, owners, requests and kinds. @known: by thread
 * and event, index of the last key, plus 1. */
static int stacks_count_stack(struct stacks *s, uint32_t stack, const struct stacks_item *items,
                              uint32_t n, uint32_t *known)
{
    uint32_t first = s->key_count;

    for (uint32_t i = 0; i < n; i++) {
        size_t thread = MIN((size_t)items[i].thread, s->v->profile->thread_count);
        struct stacks_key k = { stack,          items[i].thread,  items[i].event,
                                items[i].owner, items[i].request, items[i].handler,
                                items[i].kind };
        uint32_t *key = k.owner || k.request || k.handler || k.kind
                            ? place_of_owned(s, &k)
                            : &known[thread * PROFILE_EVENTS_MAX + items[i].event];

        if (!key)
            return -ENOMEM;
        if (*key <= first) { /* a key of an earlier stack */
            if (s->key_count == s->key_cap && stacks_grow_keys(s) < 0)
                return -ENOMEM;
            s->keys[s->key_count] = k;
            s->sums[s->key_count] = (struct view_sum){ 0 };
            *key = ++s->key_count;
        }
        s->sums[*key - 1].samples += items[i].sum.samples;
        s->sums[*key - 1].value += items[i].sum.value;
        if (s->key_of_sample)
            s->key_of_sample[items[i].item] = *key - 1;
    }
    return 0;
}

static int stacks_count_all(struct stacks *s)
{
    const struct profile *p = s->v->profile;
    _cleanup_free_ struct stacks_item *order = NULL;
    _cleanup_free_ uint32_t *begins = NULL;
    _cleanup_free_ uint32_t *known =
        calloc((p->thread_count + 1) * PROFILE_EVENTS_MAX, sizeof(*known));
    int r = known ? stacks_order_items(s, &order, &begins) : -ENOMEM;

    if (r == 0 && s->v->sample_rows) {
        s->key_of_sample = malloc((p->sample_count + 1) * sizeof(*s->key_of_sample));
        if (!s->key_of_sample)
            return -ENOMEM;
        for (size_t i = 0; i < p->sample_count; i++)
            s->key_of_sample[i] = STACKS_NONE;
    }
    for (uint32_t k = 0; k < intern_count(s->texts) && r == 0; k++)
        r = stacks_count_stack(s, k, order + begins[k], begins[k + 1] - begins[k], known);
    return r;
}

/* Returns whether code of @kind is in the JVM's code cache, and so in no file. */
static bool in_code_cache(uint32_t kind)
{
    return frame_kind_is_java((enum frame_kind)kind) || kind == FRAME_STUB;
}

static enum stacks_origin origin_of(uint32_t kind)
{
    if (frame_kind_is_java((enum frame_kind)kind))
        return STACKS_JAVA;
    switch (kind) {
    case FRAME_KERNEL:
        return STACKS_KERNEL;
    case FRAME_NATIVE:
    case FRAME_JVM:
    case FRAME_NATIVE_INLINED:
    case FRAME_STUB:
        return STACKS_NATIVE;
    default:
        return STACKS_NO_CODE;
    }
}

/* Gets the mapping of a frame, or STACKS_NONE. 0 or -ENOMEM. */
static int stacks_add_mapping(struct stacks *s, const struct view_frame *f, uint32_t *ret)
{
    const struct profile *p = s->v->profile;
    struct stacks_mapping m = { .path = f->module };

    if (f->frame && f->frame < p->frame_count)
        m.build_id = p->modules[p->functions[p->frames[f->frame].function].module].build_id;
    m.code_cache = !m.path && in_code_cache(f->kind);
    *ret = STACKS_NONE;
    if (!m.path && !m.code_cache)
        return 0;
    return MIN(id_table_add(&s->mappings, &m, ret), 0);
}

/* Adds the place of @frame, unless @frame has one. */
static int stacks_add_frame(struct stacks *s, uint32_t frame)
{
    const struct view_frame *f = &s->v->frames[frame];
    struct stacks_function function = { .name = f->name, .file = f->file };
    struct stacks_place place = { .line = f->line, .origin = origin_of(f->kind) };

    if (s->place_of_frame[frame] != STACKS_NONE)
        return 0;
    if (id_table_add(&s->functions, &function, &place.function) < 0 ||
        stacks_add_mapping(s, f, &place.mapping) < 0 ||
        id_table_add(&s->places, &place, &s->place_of_frame[frame]) < 0)
        return -ENOMEM;
    return 0;
}

/* Returns true if @frame was inlined into the frame before it, on the way from the root. */
static bool is_inlined(const struct view *v, uint32_t before, uint32_t frame)
{
    uint32_t kind = v->frames[before].kind;

    if (v->frames[frame].kind == FRAME_NATIVE_INLINED)
        return kind == FRAME_NATIVE || kind == FRAME_JVM || kind == FRAME_NATIVE_INLINED;
    return v->frames[frame].kind == FRAME_INLINED &&
           (kind == FRAME_C1 || kind == FRAME_C2 || kind == FRAME_JVMCI || kind == FRAME_INLINED);
}

/* A walk over rows, sorted by body. Each body is processed once, and neighbours share the frames
 * near the root. */
struct stacks_walk {
    uint32_t *node;      /* [depth]: node of each frame of the previous row */
    uint32_t *done;      /* [depth]: number of locations that were complete before that frame */
    uint32_t *locations; /* [depth], root first */
    uint32_t *reversed;  /* [depth] */
    struct span before;  /* frames of the previous row, as bytes */
    uint32_t body, n;    /* body of the previous row; its number of locations */
};

static int walk_init(struct stacks_walk *w, const struct view *v)
{
    size_t depth = 1;

    for (size_t i = 0; i < v->row_count; i++)
        depth = MAX(depth, (size_t)v->rows[i].n);
    w->node = calloc(depth, sizeof(*w->node));
    w->done = calloc(depth, sizeof(*w->done));
    w->locations = calloc(depth, sizeof(*w->locations));
    w->reversed = calloc(depth, sizeof(*w->reversed));
    w->body = STACKS_NONE;
    return w->node && w->done && w->locations && w->reversed ? 0 : -ENOMEM;
}

static void walk_deinit(struct stacks_walk *w)
{
    free(w->node);
    free(w->done);
    free(w->locations);
    free(w->reversed);
}

/* Returns how many frames are the same as in the previous row. Leaves out the last shared frame:
 * the frame after it decides whether a function was inlined into it. */
static uint32_t walk_known(const struct stacks_walk *w, const uint32_t *frames, uint32_t count)
{
    const uint32_t *before = (const uint32_t *)w->before.p;
    uint32_t n = 0, most = MIN((uint32_t)(w->before.n / sizeof(*before)), count);

    while (n < most && before[n] == frames[n])
        n++;
    return n ? n - 1 : 0;
}

/* Joins frames to locations in w->locations, root first. Returns the number of locations, or
 * -ENOMEM. */
static int64_t stacks_locate(struct stacks *s, struct stacks_walk *w, const uint32_t *frames,
                             uint32_t count)
{
    uint32_t from = walk_known(w, frames, count), n = from ? w->done[from] : 0;

    for (uint32_t i = from; i < count; i++) {
        struct stacks_node node = { .caller = STACKS_NONE };

        w->done[i] = n;
        if (i && is_inlined(s->v, frames[i - 1], frames[i]))
            node.caller = w->node[i - 1];
        if (stacks_add_frame(s, frames[i]) < 0)
            return -ENOMEM;
        node.place = s->place_of_frame[frames[i]];
        if (id_table_add(&s->nodes, &node, &w->node[i]) < 0)
            return -ENOMEM;
        if (i + 1 < count && is_inlined(s->v, frames[i], frames[i + 1]))
            continue;
        if (id_table_add(&s->locations, &w->node[i], &w->locations[n++]) < 0)
            return -ENOMEM;
    }
    w->before = (struct span){ (const char *)frames, count * sizeof(*frames) };
    return n;
}

/* Adds the stack of a row. 0 or -ENOMEM. */
static int stacks_add_row(struct stacks *s, struct stacks_walk *w, const struct view_row *row,
                          uint32_t *ret)
{
    uint32_t roots = row->roots, n;

    if (row->body != w->body) {
        int64_t located = stacks_locate(s, w, s->v->stack + row->first + roots, row->n - roots);

        if (located < 0)
            return -ENOMEM;
        w->body = row->body;
        w->n = (uint32_t)located;
        for (uint32_t i = 0; i < w->n; i++)
            w->reversed[i] = w->locations[w->n - 1 - i];
    }
    n = w->n + roots;
    for (uint32_t i = 0; i < roots; i++) {
        uint32_t frame = s->v->stack[row->first + i];
        struct stacks_node node = { .caller = STACKS_NONE };
        uint32_t id;

        if (stacks_add_frame(s, frame) < 0)
            return -ENOMEM;
        node.place = s->place_of_frame[frame];
        if (id_table_add(&s->nodes, &node, &id) < 0 ||
            id_table_add(&s->locations, &id, &w->reversed[n - 1 - i]) < 0)
            return -ENOMEM;
    }
    s->longest = MAX(s->longest, (size_t)n);
    return intern_add(s->texts,
                      (struct span){ (const char *)w->reversed, n * sizeof(*w->reversed) }, ret) < 0
               ? -ENOMEM
               : 0;
}

/* Adds the stacks of all rows, in order of their bodies, so that stacks that differ only in their
 * threads are neighbours. */
static int stacks_add_rows(struct stacks *s)
{
    _cleanup_(walk_deinit) struct stacks_walk walk = { 0 };
    const struct view *v = s->v;
    _cleanup_free_ uint32_t *order = calloc(v->row_count + 1, sizeof(*order));
    _cleanup_free_ uint32_t *begins = calloc(v->body_count + 1, sizeof(*begins));
    int r = order && begins ? walk_init(&walk, v) : -ENOMEM;

    for (size_t i = 0; i < v->row_count && r == 0; i++)
        begins[v->rows[i].body + 1]++;
    for (size_t k = 1; k < v->body_count && r == 0; k++)
        begins[k + 1] += begins[k];
    for (size_t i = 0; i < v->row_count && r == 0; i++)
        order[begins[v->rows[i].body]++] = (uint32_t)i;
    for (size_t i = 0; i < v->row_count && r == 0; i++)
        r = stacks_add_row(s, &walk, &v->rows[order[i]], &s->stack_of_row[order[i]]);
    return r;
}

int stacks_init(struct stacks *s, const struct view *v, bool owners, enum stacks_requests requests)
{
    size_t frames = v->frame_count;

    *s = (struct stacks){ .v = v, .owners = owners, .requests = requests, .longest = 1 };
    id_table_init(&s->functions, sizeof(struct stacks_function), UINT32_MAX / 2);
    id_table_init(&s->mappings, sizeof(struct stacks_mapping), UINT32_MAX / 2);
    id_table_init(&s->places, sizeof(struct stacks_place), UINT32_MAX / 2);
    id_table_init(&s->nodes, sizeof(struct stacks_node), UINT32_MAX / 2);
    id_table_init(&s->owned, sizeof(struct stacks_key), UINT32_MAX / 2);
    id_table_init(&s->locations, sizeof(uint32_t), UINT32_MAX / 2);
    s->place_of_frame = malloc((frames ? frames : 1) * sizeof(*s->place_of_frame));
    s->stack_of_row = calloc(v->row_count + 1, sizeof(*s->stack_of_row));
    if (!s->place_of_frame || !s->stack_of_row || intern_new(STACKS_TEXT_BYTES_MAX, &s->texts) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < frames; i++)
        s->place_of_frame[i] = STACKS_NONE;
    if (requests != STACKS_NO_REQUESTS && v->profile->context_count &&
        handlers_new(v->profile, &s->handlers) < 0)
        return -ENOMEM;
    return stacks_add_rows(s) < 0 ? -ENOMEM : stacks_count_all(s);
}

void stacks_deinit(struct stacks *s)
{
    free(s->keys);
    free(s->key_of_sample);
    id_table_deinit(&s->functions);
    id_table_deinit(&s->mappings);
    id_table_deinit(&s->places);
    id_table_deinit(&s->nodes);
    id_table_deinit(&s->owned);
    free(s->key_of_owned);
    id_table_deinit(&s->locations);
    intern_free(s->texts);
    handlers_free(s->handlers);
    free(s->sums);
    free(s->place_of_frame);
    free(s->stack_of_row);
}

const struct stacks_place *stacks_location_place(const struct stacks *s, uint32_t location)
{
    uint32_t node = stacks_innermost(s, location);

    while (stacks_node(s, node)->caller != STACKS_NONE)
        node = stacks_node(s, node)->caller;
    return stacks_node_place(s, node);
}

size_t stacks_get(const struct stacks *s, uint32_t stack, uint32_t *ret)
{
    struct span text = intern_get(s->texts, stack);

    memcpy(ret, text.p, text.n);
    return text.n / sizeof(*ret);
}

struct span stacks_mapping_path(const struct stacks *s, uint32_t mapping)
{
    const struct stacks_mapping *m = id_table_get(&s->mappings, mapping);

    return m->code_cache ? SPAN("[code cache]") : view_string(s->v, m->path);
}

struct span stacks_mapping_build_id(const struct stacks *s, uint32_t mapping)
{
    const struct stacks_mapping *m = id_table_get(&s->mappings, mapping);

    return intern_get(s->v->profile->strings, m->build_id);
}
