/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a view: picks samples, adds up those with the same stack, filters the rows. */
#include "base/array.h"
#include "profile/method_calls.h"
#include "profile/view_impl.h"

#define VIEW_STRING_BYTES_MAX ((size_t)256 << 20)
#define VIEW_GROUPS_MAX 262144u /* limit of groups in all processes */

static bool view_wants(const struct profile *p, const struct view_opts *o,
                       const struct profile_sample *s)
{
    if (s->event != o->event && !o->every_event)
        return false;
    if (o->states && !(o->states & STATE_BIT(sample_state(p, s))))
        return false;
    return s->mode == SAMPLE_MODE_KERNEL ? !o->no_kernel : !o->no_user;
}

/* Returns 1 if the thread of @s waits for work, 0 if not, or -ENOMEM. */
static int view_is_idle(struct view_builder *b, const struct profile_sample *s)
{
    bool idle = false;
    int r;

    if (sample_state(b->p, s) != STATE_BLOCKED)
        return 0;
    r = b->waits ? 0 : waits_new(b->p, &b->waits);
    if (r < 0)
        return r;
    waits_of(b->waits, s->stack, &idle);
    return idle;
}

/* Sets the group of @k for view_opts.by. 0; -EFBIG; -ENOMEM. */
static int view_key_group(struct view_builder *b, const struct profile_sample *s,
                          struct view_key *k)
{
    k->group = UINT32_MAX;
    return b->v->opts.by[0] ? view_group_of(b, s, k->process, &k->group) : 0;
}

static int view_count(struct view_builder *b, size_t sample)
{
    const struct profile *p = b->p;
    const struct profile_sample *s = &p->samples[sample];
    const struct view *v = b->v;
    struct view_key k = { .stack = s->stack, .thread = UINT32_MAX, .process = UINT32_MAX };
    uint32_t id;
    int r = view_is_idle(b, s);

    if (r < 0)
        return r;
    if (r && v->opts.no_idle) {
        if (s->event == v->opts.event) {
            b->v->idle.samples += s->count;
            b->v->idle.value += s->value;
        }
        return 0;
    }
    k.owner = profile_lock_owner(p, s);
    if (k.owner)
        k.stack = p->stacks[s->stack].parent;
    if (!v->opts.owners)
        k.owner = 0;
    if (v->opts.kinds)
        k.kind = thread_kinds_of(b->kinds, s);
    if (v->opts.requests && s->context < p->context_count)
        k.context = s->context;
    if (v->opts.threads && s->thread < p->thread_count)
        k.thread = s->thread;
    if (p->by_process && s->thread < p->thread_count)
        k.process = p->threads[s->thread].process;
    k.truncated = (s->flags & PROFILE_SAMPLE_TRUNCATED) != 0;
    k.state = sample_state(b->p, s);
    r = view_key_group(b, s, &k) ?: id_table_add(&b->keys, &k, &id);
    if (r < 0)
        return r;
    if (v->sample_rows)
        v->sample_rows[sample] = id; /* view_place_samples() replaces this key by a row */
    if (!array_extend(&b->counts, &b->counts_cap, b->keys.cap))
        return -ENOMEM;
    if (s->event != v->opts.event)
        return 0;
    b->counts[id].samples += s->count;
    b->counts[id].value += s->value;
    b->counts[id].looks += view_looks_of(p, s);
    if (s->flags & PROFILE_SAMPLE_UNKNOWN)
        b->counts[id].unknown += s->count;
    if (s->flags & PROFILE_SAMPLE_CUT)
        b->counts[id].truncated += s->count;
    return 0;
}

/* Finds the calls, if the options have methods. */
static int view_find_calls(struct view_builder *b, struct error *err)
{
    const struct view_opts *o = &b->v->opts;
    const struct method_calls_opts calls = { .methods = o->calls,
                                             .names = o->names,
                                             .event = o->event,
                                             .over_ns = o->over_ns,
                                             .joined = o->joined };

    return match_count(o->calls) ? method_calls_find(b->p, &calls, &b->v->calls, err) : 0;
}

/* Counts the samples that pass the options. 0 or -errno. */
static int view_count_all(struct view_builder *b, struct error *err)
{
    const struct view_opts *o = &b->v->opts;
    const struct profile *p = b->p;
    int found = view_find_calls(b, err);

    if (found < 0)
        return found;
    for (size_t i = 0; i < p->sample_count; i++) {
        bool wanted = view_wants(p, o, &p->samples[i]) && (!b->v->calls || b->v->calls->inside[i]);
        int r = wanted ? view_wants_context(b, &p->samples[i], err) : 0;

        if (r > 0)
            r = view_count(b, i);
        if (r < 0)
            return r;
    }
    b->root_count = 1 + (o->by[0]     ? b->groups.count
                         : o->threads ? p->thread_count
                                      : p->process_count);
    b->roots = calloc(b->root_count, sizeof(*b->roots));
    return b->roots ? 0 : -ENOMEM;
}

/* Cached results of a list of patterns, by frame. */
struct frame_verdicts {
    struct match *match;
    uint8_t *known; /* [frames]: 0 not matched yet, 1 no, 2 yes */
    size_t cap;
};

static int frame_verdict(struct view_builder *b, struct frame_verdicts *fv, uint32_t frame,
                         struct error *err)
{
    const struct view_frame *f = id_table_get(&b->frames, frame);
    int r;

    if (frame >= fv->cap &&
        !array_extend(&fv->known, &fv->cap, MAX((size_t)b->frames.cap, (size_t)frame + 1)))
        return -ENOMEM;
    if (fv->known[frame] == 0) {
        r = match_any(fv->match, intern_get(b->v->strings, f->name), err);
        if (r < 0)
            return r;
        fv->known[frame] = r ? 2 : 1;
    }
    return fv->known[frame] == 2;
}

/* Returns whether a frame of the row matches: 1, 0, -errno. */
static int row_matches(struct view_builder *b, struct frame_verdicts *fv,
                       const struct view_row *row, struct error *err)
{
    int r = 0;

    for (uint32_t i = 0; i < row->n && r == 0; i++)
        r = frame_verdict(b, fv, b->v->stack[row->first + i], err);
    return r;
}

/* Returns enum frame_leaf of the Java frame nearest to the leaf, which ran or called native code
 * that ran. */
static enum frame_leaf stack_leaf(const struct profile *p, uint32_t stack)
{
    for (; p->stacks[stack].depth; stack = p->stacks[stack].parent) {
        const struct frame *f = &p->frames[p->stacks[stack].frame];

        if (frame_kind_is_java((enum frame_kind)f->kind))
            return (enum frame_leaf)f->leaf;
    }
    return FRAME_LEAF_RECORDED;
}

/* Makes the row of key @id; row->n 0: the filters drop it. */
static int view_make_row(struct view_builder *b, uint32_t id, struct frame_verdicts *include,
                         struct frame_verdicts *exclude, struct view_row *row, struct error *err)
{
    const struct view_key *k = id_table_get(&b->keys, id);
    const struct view_counts *n = &b->counts[id];
    enum frame_leaf leaf = stack_leaf(b->p, k->stack);
    struct view *v = b->v;
    int r;

    if (v->stack_words > UINT32_MAX / 2)
        return -EFBIG;
    *row = (struct view_row){ .first = (uint32_t)v->stack_words,
                              .samples = n->samples,
                              .value = n->value,
                              .inferred = leaf == FRAME_LEAF_INFERRED ? n->samples : 0,
                              .unsure = leaf == FRAME_LEAF_UNSURE ? n->samples : 0,
                              .thread = k->thread,
                              .state = (uint8_t)k->state,
                              .kind = (uint8_t)k->kind,
                              .owner = k->owner,
                              .context = k->context };
    r = view_push_roots(b, k);
    row->roots = (uint32_t)v->stack_words - row->first;
    row->body = (uint32_t)view_body(k); /* view_order_rows() replaces it by a body number */
    if (k->state == STATE_BLOCKED && b->waits)
        row->wait = (uint8_t)waits_of(b->waits, k->stack, &row->idle);
    if (r == 0)
        r = view_push_body(b, k);
    if (r < 0)
        return r;
    row->n = (uint32_t)v->stack_words - row->first;
    r = match_count(include->match) ? row_matches(b, include, row, err) : 1;
    if (r > 0 && match_count(exclude->match)) {
        r = row_matches(b, exclude, row, err);
        r = r < 0 ? r : !r;
    }
    if (r <= 0) {
        if (b->spelled[row->body].first >= row->first)
            b->spelled[row->body].n = 0; /* the frames of the body were dropped with the row */
        v->stack_words = row->first;
        row->n = 0;
        return r;
    }
    v->samples += n->samples;
    v->value += n->value;
    v->looks += n->looks;
    v->unknown += n->unknown;
    v->truncated += n->truncated;
    v->inferred += row->inferred;
    v->unsure += row->unsure;
    return 0;
}

static int view_make_rows(struct view_builder *b, struct error *err)
{
    struct view *v = b->v;
    struct frame_verdicts include = { .match = v->opts.include },
                          exclude = { .match = v->opts.exclude };
    int r = 0;

    v->rows = calloc(b->keys.count ? b->keys.count : 1, sizeof(*v->rows));
    b->key_first = calloc(b->keys.count ? b->keys.count : 1, sizeof(*b->key_first));
    b->root_of_row = calloc(b->keys.count ? b->keys.count : 1, sizeof(*b->root_of_row));
    if (!v->rows || !b->key_first || !b->root_of_row)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->keys.count && r == 0; i++) {
        struct view_row *row = &v->rows[v->row_count];

        r = view_make_row(b, i, &include, &exclude, row, err);
        b->root_of_row[v->row_count] = view_root(b, id_table_get(&b->keys, i));
        b->key_first[i] = r == 0 && row->n ? row->first : VIEW_NO_ROW;
        if (r == 0 && row->n)
            v->row_count++;
    }
    free(include.known);
    free(exclude.known);
    if (r < 0)
        return r;
    v->frame_count = b->frames.count;
    v->frames = id_table_take(&b->frames);
    return view_order_rows(b);
}

static int view_new_sample_rows(struct view *v)
{
    size_t n = v->profile->sample_count;

    v->sample_rows = malloc((n ? n : 1) * sizeof(*v->sample_rows));
    if (!v->sample_rows)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        v->sample_rows[i] = VIEW_NO_ROW;
    return 0;
}

bool view_weighs_by_value(const struct view_opts *o, const struct profile_event *e)
{
    return o->total_said ? o->total : e->valued || strcmp(e->unit, "bytes") == 0;
}

int view_new(struct profile *p, const struct view_opts *o, struct view **ret, struct error *err)
{
    struct view *v = calloc(1, sizeof(*v));
    struct view_builder b = { .v = v, .p = p };
    int r = -ENOMEM;

    if (!v)
        return error_set(err, -ENOMEM, "not enough memory to render this profile");
    v->profile = profile_ref(p);
    v->opts = *o;
    v->opts.event = o->event < p->event_count ? o->event : 0;
    if (p->event_count && view_weighs_by_value(o, &p->events[v->opts.event]))
        v->opts.total = true;
    v->opts.every_event =
        o->every_event && o->exact && p->event_count > 1 && !match_count(o->calls);
    match_begin(o->include);
    match_begin(o->exclude);
    match_begin(o->operation);
    id_table_init(&b.keys, sizeof(struct view_key), UINT32_MAX / 2);
    id_table_init(&b.frames, sizeof(struct view_frame), UINT32_MAX / 2);
    buf_init(&b.text, (size_t)64 << 10);
    b.frame_ids = calloc(p->frame_count ? p->frame_count : 1, sizeof(*b.frame_ids));
    b.spelled = calloc(view_bodies(&b) + 1, sizeof(*b.spelled));
    id_table_init(&b.groups, sizeof(struct view_group), VIEW_GROUPS_MAX);
    if (b.frame_ids && b.spelled)
        r = intern_new(VIEW_STRING_BYTES_MAX, &v->strings);
    if (r == 0 && o->exact)
        r = view_new_sample_rows(v);
    if (r == 0)
        r = view_groups_begin(&b);
    if (r == 0)
        r = view_count_all(&b, err);
    if (r == 0)
        r = view_make_rows(&b, err);
    id_table_deinit(&b.keys);
    id_table_deinit(&b.groups);
    free(b.operations);
    free(b.handled);
    handlers_free(b.handlers);
    for (size_t i = 0; i < VIEW_BY_MAX; i++)
        free(b.group_frames[i]);
    id_table_deinit(&b.frames);
    buf_deinit(&b.text);
    free(b.frame_ids);
    free(b.spelled);
    free(b.roots);
    free(b.root_of_row);
    free(b.key_first);
    free(b.counts);
    waits_free(b.waits);
    thread_kinds_free(b.kinds);
    if (r < 0) {
        view_free(v);
        return r == -EINVAL ? r : error_code(err, r, "cannot render this profile");
    }
    /* borrowed for this call only */
    v->opts.include = v->opts.exclude = v->opts.operation = v->opts.calls = NULL;
    view_warn(v);
    *ret = v;
    return 0;
}

struct view *view_free(struct view *v)
{
    if (!v)
        return NULL;
    profile_unref(v->profile);
    intern_free(v->strings);
    free(v->frames);
    free(v->stack);
    free(v->rows);
    free(v->sample_rows);
    method_calls_free(v->calls);
    free(v);
    return NULL;
}
