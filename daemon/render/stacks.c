/* SPDX-License-Identifier: Apache-2.0 */
#include "render/stacks.h"

static int stacks_count(struct stacks *s, uint32_t row, uint32_t thread, uint64_t samples)
{
    struct stacks_key key = { .row = row, .thread = thread };
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
            r = stacks_count(s, v->sample_rows[i],
                             sample->thread < p->thread_count ? sample->thread : STACKS_NONE,
                             sample->count);
    }
    for (size_t i = 0; !v->sample_rows && i < v->row_count && r == 0; i++) {
        uint32_t thread = v->rows[i].thread;

        r = stacks_count(s, (uint32_t)i, thread < p->thread_count ? thread : STACKS_NONE,
                         v->rows[i].samples);
    }
    return r;
}

/* Code without a file of its own: what the JVM made lies in its code cache. */
static bool in_code_cache(uint32_t kind)
{
    return frame_kind_is_java((enum frame_kind)kind) || kind == FRAME_STUB;
}

static int stacks_add_mapping(struct stacks *s, uint32_t frame)
{
    const struct view *v = s->v;
    const struct profile *p = v->profile;
    const struct view_frame *f = &v->frames[frame];
    struct stacks_mapping m = { .path = f->module };
    int r = 0;

    if (f->frame && f->frame < p->frame_count)
        m.build_id = p->modules[p->functions[p->frames[f->frame].function].module].build_id;
    m.code_cache = !m.path && in_code_cache(f->kind);
    if (m.path || m.code_cache)
        r = id_table_add(&s->mappings, &m, &s->mapping_of_frame[frame]);
    return r < 0 ? -ENOMEM : 0;
}

/* Gives a frame its function and mapping, once. */
static int stacks_add_frame(struct stacks *s, uint32_t frame)
{
    const struct view_frame *f = &s->v->frames[frame];
    struct stacks_function function = { .name = f->name, .file = f->file };
    int r;

    if (s->function_of_frame[frame] != STACKS_NONE)
        return 0;
    r = id_table_add(&s->functions, &function, &s->function_of_frame[frame]);
    return r < 0 ? -ENOMEM : stacks_add_mapping(s, frame);
}

/* Whether @frame was inlined into the one before it on the way from the root. */
static bool is_inlined(const struct view *v, uint32_t before, uint32_t frame)
{
    uint32_t kind = v->frames[before].kind;

    return v->frames[frame].kind == FRAME_INLINED &&
           (kind == FRAME_C1 || kind == FRAME_C2 || kind == FRAME_INLINED);
}

/* The locations of a row, in s->places from @at on; returns how many, or -ENOMEM. */
static int64_t stacks_add_row(struct stacks *s, const struct view_row *row, uint32_t at)
{
    const uint32_t *frames = s->v->stack + row->first;
    uint32_t n = 0, id = STACKS_NONE;

    for (uint32_t i = 0; i < row->n; i++) {
        struct stacks_node node = { STACKS_NONE, frames[i] };

        if (i && is_inlined(s->v, frames[i - 1], frames[i]))
            node.caller = id;
        if (stacks_add_frame(s, frames[i]) < 0 || id_table_add(&s->nodes, &node, &id) < 0)
            return -ENOMEM;
        if (i + 1 < row->n && is_inlined(s->v, frames[i], frames[i + 1]))
            continue;
        if (id_table_add(&s->locations, &id, &s->places[at + n++]) < 0)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < n / 2; i++) { /* leaf first */
        uint32_t swap = s->places[at + i];

        s->places[at + i] = s->places[at + n - 1 - i];
        s->places[at + n - 1 - i] = swap;
    }
    return n;
}

int stacks_init(struct stacks *s, const struct view *v)
{
    size_t words = v->stack_words, frames = v->frame_count;

    *s = (struct stacks){ .v = v };
    id_table_init(&s->keys, sizeof(struct stacks_key), UINT32_MAX / 2);
    id_table_init(&s->nodes, sizeof(struct stacks_node), UINT32_MAX / 2);
    id_table_init(&s->functions, sizeof(struct stacks_function), UINT32_MAX / 2);
    id_table_init(&s->mappings, sizeof(struct stacks_mapping), UINT32_MAX / 2);
    id_table_init(&s->locations, sizeof(uint32_t), UINT32_MAX / 2);
    s->function_of_frame = malloc((frames ? frames : 1) * sizeof(*s->function_of_frame));
    s->mapping_of_frame = malloc((frames ? frames : 1) * sizeof(*s->mapping_of_frame));
    s->places = malloc((words ? words : 1) * sizeof(*s->places));
    s->places_at = calloc(v->row_count + 1, sizeof(*s->places_at));
    if (!s->function_of_frame || !s->mapping_of_frame || !s->places || !s->places_at)
        return -ENOMEM;
    for (size_t i = 0; i < frames; i++)
        s->function_of_frame[i] = s->mapping_of_frame[i] = STACKS_NONE;
    for (size_t i = 0; i < v->row_count; i++) {
        int64_t n = stacks_add_row(s, &v->rows[i], s->places_at[i]);

        if (n < 0)
            return -ENOMEM;
        s->places_at[i + 1] = s->places_at[i] + (uint32_t)n;
    }
    return stacks_count_all(s);
}

void stacks_deinit(struct stacks *s)
{
    id_table_deinit(&s->keys);
    id_table_deinit(&s->nodes);
    id_table_deinit(&s->functions);
    id_table_deinit(&s->mappings);
    id_table_deinit(&s->locations);
    free(s->counts);
    free(s->function_of_frame);
    free(s->mapping_of_frame);
    free(s->places);
    free(s->places_at);
}

uint32_t stacks_location_mapping(const struct stacks *s, uint32_t location)
{
    uint32_t node = stacks_innermost(s, location);

    while (stacks_node(s, node)->caller != STACKS_NONE)
        node = stacks_node(s, node)->caller;
    return s->mapping_of_frame[stacks_node(s, node)->frame];
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
