/* SPDX-License-Identifier: Apache-2.0 */
#include "render/stacks.h"

#include "base/cleanup.h"

#define STACKS_TEXT_BYTES_MAX ((size_t)1 << 30)

static int stacks_count(struct stacks *s, uint32_t stack, uint32_t thread, uint64_t samples)
{
    struct stacks_key key = { .stack = stack, .thread = thread };
    uint32_t id;
    int r = id_table_add(&s->keys, &key, &id);

    if (r < 0)
        return -ENOMEM;
    if (s->keys.cap > s->counts_cap) {
        uint64_t *counts = reallocarray(s->counts, s->keys.cap, sizeof(*counts));

        if (!counts)
            return -ENOMEM;
        memset(counts + s->counts_cap, 0, (s->keys.cap - s->counts_cap) * sizeof(*counts));
        s->counts = counts;
        s->counts_cap = s->keys.cap;
    }
    s->counts[id] += samples;
    return 0;
}

/* Where the view knows no samples its rows are all there is. */
static int stacks_count_all(struct stacks *s)
{
    const struct view *v = s->v;
    const struct profile *p = v->profile;
    int r = 0;

    for (size_t i = 0; v->sample_rows && i < p->sample_count && r == 0; i++) {
        const struct profile_sample *sample = &p->samples[i];

        if (v->sample_rows[i] != VIEW_NO_ROW)
            r = stacks_count(s, s->stack_of_row[v->sample_rows[i]],
                             sample->thread < p->thread_count ? sample->thread : STACKS_NONE,
                             sample->count);
    }
    for (size_t i = 0; !v->sample_rows && i < v->row_count && r == 0; i++) {
        uint32_t thread = v->rows[i].thread;

        r = stacks_count(s, s->stack_of_row[i], thread < p->thread_count ? thread : STACKS_NONE,
                         v->rows[i].samples);
    }
    return r;
}

/* Code without a file of its own: what the JVM made lies in its code cache. */
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
    case FRAME_STUB:
        return STACKS_NATIVE;
    default:
        return STACKS_NO_CODE;
    }
}

/* The mapping of a frame, or STACKS_NONE: 0 or -ENOMEM. */
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

/* Gives a frame its place, once. */
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

/* Whether @frame was inlined into the one before it on the way from the root. */
static bool is_inlined(const struct view *v, uint32_t before, uint32_t frame)
{
    uint32_t kind = v->frames[before].kind;

    return v->frames[frame].kind == FRAME_INLINED &&
           (kind == FRAME_C1 || kind == FRAME_C2 || kind == FRAME_INLINED);
}

/* The locations of a row's frames: pool[first .. first + n), root first. */
struct stacks_body {
    uint32_t first, n;
};

/* Rows on their way, one after the other: neighbours share what is nearer to the root. Rows that
 * differ only in their process or thread share all the rest, wherever they are. */
struct stacks_walk {
    uint32_t *node;             /* [depth]: of each frame of the row before */
    uint32_t *done;             /* [depth]: locations that were complete before it */
    uint32_t *locations;        /* [depth], root first */
    uint32_t *reversed;         /* [depth] */
    struct span before;         /* frames of the row before, as bytes */
    struct intern *known;       /* frames behind those of processes and threads, as bytes */
    struct stacks_body *bodies; /* by their id */
    uint32_t *pool;
    size_t bodies_cap, pool_n, pool_cap;
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
    if (!w->node || !w->done || !w->locations || !w->reversed)
        return -ENOMEM;
    return intern_new(STACKS_TEXT_BYTES_MAX, &w->known);
}

static void walk_deinit(struct stacks_walk *w)
{
    intern_free(w->known);
    free(w->bodies);
    free(w->pool);
    free(w->node);
    free(w->done);
    free(w->locations);
    free(w->reversed);
}

/* How many of the frames need no second look. The last one that they share with those before does:
 * whether something is inlined into it is up to the next. */
static uint32_t walk_known(const struct stacks_walk *w, const uint32_t *frames, uint32_t count)
{
    const uint32_t *before = (const uint32_t *)w->before.p;
    uint32_t n = 0, most = MIN((uint32_t)(w->before.n / sizeof(*before)), count);

    while (n < most && before[n] == frames[n])
        n++;
    return n ? n - 1 : 0;
}

/* Puts frames together into w->locations, root first; how many there are, or -ENOMEM. */
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

/* The body @id, which is new: its locations are kept. */
static int walk_keep(struct stacks_walk *w, uint32_t id, uint32_t n)
{
    if (id >= w->bodies_cap) {
        size_t cap = MAX((size_t)id + 1, w->bodies_cap * 2);
        struct stacks_body *bodies = reallocarray(w->bodies, cap, sizeof(*bodies));

        if (!bodies)
            return -ENOMEM;
        w->bodies = bodies;
        w->bodies_cap = cap;
    }
    if (w->pool_n + n > w->pool_cap) {
        size_t cap = MAX(w->pool_n + n, w->pool_cap * 2);
        uint32_t *pool = reallocarray(w->pool, cap, sizeof(*pool));

        if (!pool || cap > UINT32_MAX) {
            w->pool = pool ? pool : w->pool;
            return -ENOMEM;
        }
        w->pool = pool;
        w->pool_cap = cap;
    }
    if (n)
        memcpy(w->pool + w->pool_n, w->locations, n * sizeof(*w->pool));
    w->bodies[id] = (struct stacks_body){ (uint32_t)w->pool_n, n };
    w->pool_n += n;
    return 0;
}

/* Frames at the root that are no code: nothing is inlined into them. */
static uint32_t roots_of(const struct view *v, const struct view_row *row)
{
    uint32_t n = 0;

    while (n < row->n && v->frames[v->stack[row->first + n]].kind >= FRAME_THREAD)
        n++;
    return n;
}

/* The locations of @row's code, once for all rows that have it. */
static int stacks_body_of(struct stacks *s, struct stacks_walk *w, const struct view_row *row,
                          uint32_t roots, struct stacks_body *ret)
{
    const uint32_t *frames = s->v->stack + row->first + roots;
    uint32_t n = row->n - roots, count = intern_count(w->known), id;
    int64_t located;

    if (intern_add(w->known, (struct span){ (const char *)frames, n * sizeof(*frames) }, &id) < 0)
        return -ENOMEM;
    if (id >= count || !w->bodies) { /* the empty one is there from the beginning */
        located = stacks_locate(s, w, frames, n);
        if (located < 0 || walk_keep(w, id, (uint32_t)located) < 0)
            return -ENOMEM;
    }
    *ret = n ? w->bodies[id] : (struct stacks_body){ 0 };
    return 0;
}

/* The stack of a row. 0 or -ENOMEM. */
static int stacks_add_row(struct stacks *s, struct stacks_walk *w, const struct view_row *row,
                          uint32_t *ret)
{
    uint32_t roots = roots_of(s->v, row), n;
    struct stacks_body body;

    if (stacks_body_of(s, w, row, roots, &body) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < body.n; i++)
        w->reversed[i] = w->pool[body.first + body.n - 1 - i];
    n = body.n + roots;
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

int stacks_init(struct stacks *s, const struct view *v)
{
    _cleanup_(walk_deinit) struct stacks_walk walk = { 0 };
    size_t frames = v->frame_count;

    *s = (struct stacks){ .v = v, .longest = 1 };
    id_table_init(&s->keys, sizeof(struct stacks_key), UINT32_MAX / 2);
    id_table_init(&s->functions, sizeof(struct stacks_function), UINT32_MAX / 2);
    id_table_init(&s->mappings, sizeof(struct stacks_mapping), UINT32_MAX / 2);
    id_table_init(&s->places, sizeof(struct stacks_place), UINT32_MAX / 2);
    id_table_init(&s->nodes, sizeof(struct stacks_node), UINT32_MAX / 2);
    id_table_init(&s->locations, sizeof(uint32_t), UINT32_MAX / 2);
    s->place_of_frame = malloc((frames ? frames : 1) * sizeof(*s->place_of_frame));
    s->stack_of_row = calloc(v->row_count + 1, sizeof(*s->stack_of_row));
    if (!s->place_of_frame || !s->stack_of_row || walk_init(&walk, v) < 0 ||
        intern_new(STACKS_TEXT_BYTES_MAX, &s->texts) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < frames; i++)
        s->place_of_frame[i] = STACKS_NONE;
    for (size_t i = 0; i < v->row_count; i++)
        if (stacks_add_row(s, &walk, &v->rows[i], &s->stack_of_row[i]) < 0)
            return -ENOMEM;
    return stacks_count_all(s);
}

void stacks_deinit(struct stacks *s)
{
    id_table_deinit(&s->keys);
    id_table_deinit(&s->functions);
    id_table_deinit(&s->mappings);
    id_table_deinit(&s->places);
    id_table_deinit(&s->nodes);
    id_table_deinit(&s->locations);
    intern_free(s->texts);
    free(s->counts);
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
