/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a view: picks samples, adds up those with the same stack, spells the frames.
 */
#include "profile/view.h"

#include "base/buf.h"
#include "base/id_table.h"
#include "profile/spell.h"

#define VIEW_STRING_BYTES_MAX ((size_t)256 << 20)

/* What one row is made of before its frames are spelled. */
struct view_key {
    uint32_t stack;     /* index in the profile */
    uint32_t thread;    /* UINT32_MAX: not split by thread */
    uint32_t process;   /* UINT32_MAX: not split by process */
    uint32_t truncated; /* 1: "[truncated]" at the root */
};

/* Where the frames of a stack of the profile are in view->stack; n 0: not yet. */
struct view_spelled {
    uint32_t first, n;
};

struct view_counts {
    uint64_t samples, unknown, truncated;
};

struct view_builder {
    struct view *v;
    const struct profile *p;
    struct id_table keys;       /* struct view_key */
    struct view_counts *counts; /* [keys.cap], by key id */
    size_t counts_cap;
    struct id_table frames;       /* struct view_frame */
    uint32_t *frame_ids;          /* [p->frame_count]: id in frames + 1 */
    struct view_spelled *spelled; /* [p->stack_count] */
    uint32_t *key_first; /* [keys.count]: row.first of the key's row, VIEW_NO_ROW: left out */
    size_t stack_cap;
    struct buf text;
};

static int view_intern(struct view_builder *b, struct span s, uint32_t *ret)
{
    int r = intern_add(b->v->strings, s, ret);

    return r == -ENOSPC ? -EFBIG : r;
}

/* ---- frames ---- */

static int view_add_frame(struct view_builder *b, struct view_frame *f, struct span name,
                          uint32_t *ret)
{
    int r = view_intern(b, name, &f->name);

    return r < 0 ? r : MIN(id_table_add(&b->frames, f, ret), 0);
}

static int view_frame_id(struct view_builder *b, uint32_t frame, uint32_t *ret)
{
    const struct frame *f = &b->p->frames[frame];
    const struct function *fn = &b->p->functions[f->function];
    struct view_frame vf = { .kind = f->kind };
    int r;

    if (b->frame_ids[frame]) {
        *ret = b->frame_ids[frame] - 1;
        return 0;
    }
    if (b->v->opts.lines || b->v->opts.keep_lines || b->v->opts.exact)
        vf.line = f->line;
    if (b->v->opts.exact)
        vf.frame = frame;
    buf_clear(&b->text);
    spell_frame(b->p, &b->v->opts, f, &b->text);
    r = b->text.error;
    if (r == 0)
        r = view_intern(b, intern_get(b->p->strings, b->p->modules[fn->module].path), &vf.module);
    if (r == 0)
        r = view_intern(b, intern_get(b->p->strings, fn->file), &vf.file);
    if (r == 0)
        r = view_add_frame(b, &vf, buf_span(&b->text), ret);
    if (r == 0)
        b->frame_ids[frame] = *ret + 1;
    return r;
}

static int view_mark(struct view_builder *b, enum frame_kind kind, struct span name, uint32_t *ret)
{
    struct view_frame vf = { .kind = (uint32_t)kind };

    return view_add_frame(b, &vf, name, ret);
}

/* ---- rows ---- */

/* Makes room for @n more frames. */
static int view_reserve(struct view_builder *b, size_t n)
{
    struct view *v = b->v;

    if (v->stack_words + n > b->stack_cap) {
        size_t cap = MAX(MAX(b->stack_cap + b->stack_cap / 2, (size_t)4096), v->stack_words + n);
        uint32_t *stack = reallocarray(v->stack, cap, sizeof(*stack));

        if (!stack)
            return -ENOMEM;
        v->stack = stack;
        b->stack_cap = cap;
    }
    return 0;
}

static int view_push(struct view_builder *b, uint32_t frame)
{
    int r = view_reserve(b, 1);

    if (r == 0)
        b->v->stack[b->v->stack_words++] = frame;
    return r;
}

/* Process, thread and "[truncated]" frames of a row. */
static int view_push_roots(struct view_builder *b, const struct view_key *k)
{
    const struct profile *p = b->p;
    uint32_t id;
    int r = 0;

    if (k->process != UINT32_MAX) {
        buf_clear(&b->text);
        buf_add_char(&b->text, '[');
        buf_add_span(&b->text, intern_get(p->strings, p->processes[k->process].name));
        buf_printf(&b->text, " pid=%d]", p->processes[k->process].host_pid);
        r = view_mark(b, FRAME_PROCESS, buf_span(&b->text), &id);
        if (r == 0)
            r = view_push(b, id);
    }
    if (r == 0 && k->thread != UINT32_MAX) {
        buf_clear(&b->text);
        buf_add_char(&b->text, '[');
        buf_add_span(&b->text, intern_get(p->strings, p->threads[k->thread].name));
        buf_printf(&b->text, " tid=%d]", p->threads[k->thread].host_tid);
        r = view_mark(b, FRAME_THREAD, buf_span(&b->text), &id);
        if (r == 0)
            r = view_push(b, id);
    }
    if (r == 0 && k->truncated) {
        r = view_mark(b, FRAME_TRUNCATED, SPAN("[truncated]"), &id);
        if (r == 0)
            r = view_push(b, id);
    }
    return r;
}

/* The frames of a stack, root first; with a depth limit the middle becomes one "[...]". */
static int view_spell_stack(struct view_builder *b, uint32_t stack)
{
    const struct profile *p = b->p;
    size_t n = p->stacks[stack].depth, depth = b->v->opts.depth, cut_from = n, cut_to = n, first;
    uint32_t id;
    int r = 0;

    if (n == 0) {
        r = view_mark(b, FRAME_UNKNOWN, SPAN("[unknown]"), &id);
        return r == 0 ? view_push(b, id) : r;
    }
    if (depth && n > depth) {
        cut_from = depth / 2;
        cut_to = n - (depth - 1 - cut_from > 0 ? depth - 1 - cut_from : 0);
        if (depth == 1)
            cut_to = n;
    }
    first = b->v->stack_words;
    r = view_reserve(b, n);
    if (r == 0)
        b->v->stack_words += n;
    for (size_t i = n; i > 0 && r == 0; i--) {
        r = view_frame_id(b, p->stacks[stack].frame, &id);
        b->v->stack[first + i - 1] = id;
        stack = p->stacks[stack].parent;
    }
    if (r == 0 && cut_from < cut_to) {
        r = view_mark(b, FRAME_TRUNCATED, SPAN("[\xe2\x80\xa6]"), &id);
        b->v->stack[first + cut_from] = id;
        memmove(b->v->stack + first + cut_from + 1, b->v->stack + first + cut_to,
                (n - cut_to) * sizeof(*b->v->stack));
        b->v->stack_words = first + cut_from + 1 + (n - cut_to);
    }
    return r;
}

/* As view_spell_stack(), which is asked once for each stack: other threads have it too. */
static int view_push_stack(struct view_builder *b, uint32_t stack)
{
    struct view_spelled *at = &b->spelled[stack];
    struct view *v = b->v;
    size_t first = v->stack_words;
    int r;

    if (at->n) {
        r = view_reserve(b, at->n);
        if (r == 0) {
            memcpy(v->stack + first, v->stack + at->first, at->n * sizeof(*v->stack));
            v->stack_words += at->n;
        }
        return r;
    }
    r = view_spell_stack(b, stack);
    if (r == 0)
        *at = (struct view_spelled){ (uint32_t)first, (uint32_t)(v->stack_words - first) };
    return r;
}

/* ---- adding up ---- */

static bool view_wants(const struct view_opts *o, const struct profile_sample *s)
{
    return s->mode == SAMPLE_MODE_KERNEL ? !o->no_kernel : !o->no_user;
}

static int view_count(struct view_builder *b, size_t sample)
{
    const struct profile *p = b->p;
    const struct profile_sample *s = &p->samples[sample];
    const struct view *v = b->v;
    struct view_key k = { .stack = s->stack, .thread = UINT32_MAX, .process = UINT32_MAX };
    uint32_t id;
    int r;

    if (v->opts.threads && s->thread < p->thread_count)
        k.thread = s->thread;
    if (p->by_process && s->thread < p->thread_count)
        k.process = p->threads[s->thread].process;
    k.truncated = (s->flags & PROFILE_SAMPLE_TRUNCATED) != 0;
    r = id_table_add(&b->keys, &k, &id);
    if (r < 0)
        return r;
    if (v->sample_rows)
        v->sample_rows[sample] = id; /* view_place_samples() makes a row of it */
    if (b->keys.cap > b->counts_cap) {
        struct view_counts *counts = reallocarray(b->counts, b->keys.cap, sizeof(*counts));

        if (!counts)
            return -ENOMEM;
        memset(counts + b->counts_cap, 0, (b->keys.cap - b->counts_cap) * sizeof(*counts));
        b->counts = counts;
        b->counts_cap = b->keys.cap;
    }
    b->counts[id].samples += s->count;
    if (s->flags & PROFILE_SAMPLE_UNKNOWN)
        b->counts[id].unknown += s->count;
    if (s->flags & PROFILE_SAMPLE_TRUNCATED)
        b->counts[id].truncated += s->count;
    return 0;
}

static int row_compare(const void *x, const void *y, void *cookie)
{
    const struct view_row *a = x, *c = y;
    const struct view *v = cookie;
    const uint32_t *s = v->stack + a->first, *t = v->stack + c->first;
    uint32_t n = MIN(a->n, c->n);

    for (uint32_t i = 0; i < n; i++) {
        if (s[i] != t[i] && v->frames[s[i]].name != v->frames[t[i]].name)
            return v->frames[s[i]].name < v->frames[t[i]].name ? -1 : 1;
    }
    if (a->n != c->n)
        return a->n < c->n ? -1 : 1;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i] != t[i])
            return s[i] < t[i] ? -1 : 1;
    }
    return a->thread < c->thread ? -1 : a->thread > c->thread;
}

/* Equal rows become one: different frames of the profile can read the same. @row_at, by row.first:
 * which row that became. NULL: nobody asks. */
static void view_merge_rows(struct view *v, uint32_t *row_at)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->row_count; i++) {
        uint32_t first = v->rows[i].first;

        if (kept && row_compare(&v->rows[kept - 1], &v->rows[i], v) == 0) {
            v->rows[kept - 1].samples += v->rows[i].samples;
            v->rows[kept - 1].value += v->rows[i].value;
        } else {
            v->rows[kept++] = v->rows[i];
        }
        if (row_at)
            row_at[first] = (uint32_t)kept - 1;
    }
    v->row_count = kept;
}

/* From the key of each sample to its row, by where the row's frames begin. */
static void view_place_samples(struct view_builder *b, const uint32_t *row_at)
{
    uint32_t *rows = b->v->sample_rows;

    for (size_t i = 0; i < b->p->sample_count; i++) {
        uint32_t first = rows[i] == VIEW_NO_ROW ? VIEW_NO_ROW : b->key_first[rows[i]];

        rows[i] = first == VIEW_NO_ROW ? VIEW_NO_ROW : row_at[first];
    }
}

/* Sorts the rows and adds equal ones up. */
static int view_order_rows(struct view_builder *b)
{
    struct view *v = b->v;
    uint32_t *row_at = NULL;

    if (v->sample_rows) {
        row_at = calloc(v->stack_words ? v->stack_words : 1, sizeof(*row_at));
        if (!row_at)
            return -ENOMEM;
    }
    qsort_r(v->rows, v->row_count, sizeof(*v->rows), row_compare, v);
    view_merge_rows(v, row_at);
    if (row_at)
        view_place_samples(b, row_at);
    free(row_at);
    return 0;
}

/* What a pattern list says of each frame: asked once a frame. */
struct frame_verdicts {
    struct match *match;
    uint8_t *known; /* [frames]: 0 not asked, 1 no, 2 yes */
    size_t cap;
};

static int frame_verdict(struct view_builder *b, struct frame_verdicts *fv, uint32_t frame,
                         struct error *err)
{
    const struct view_frame *f = id_table_get(&b->frames, frame);
    int r;

    if (frame >= fv->cap) {
        size_t cap = MAX((size_t)b->frames.cap, (size_t)frame + 1);
        uint8_t *known = realloc(fv->known, cap);

        if (!known)
            return -ENOMEM;
        memset(known + fv->cap, 0, cap - fv->cap);
        fv->known = known;
        fv->cap = cap;
    }
    if (fv->known[frame] == 0) {
        r = match_any(fv->match, intern_get(b->v->strings, f->name), err);
        if (r < 0)
            return r;
        fv->known[frame] = r ? 2 : 1;
    }
    return fv->known[frame] == 2;
}

/* Whether a frame of the row matches: 1, 0, -errno. */
static int row_matches(struct view_builder *b, struct frame_verdicts *fv,
                       const struct view_row *row, struct error *err)
{
    int r = 0;

    for (uint32_t i = 0; i < row->n && r == 0; i++)
        r = frame_verdict(b, fv, b->v->stack[row->first + i], err);
    return r;
}

/* Makes the row of key @id; leaves row->n 0 where the filters drop it. */
static int view_make_row(struct view_builder *b, uint32_t id, struct frame_verdicts *include,
                         struct frame_verdicts *exclude, struct view_row *row, struct error *err)
{
    const struct view_key *k = id_table_get(&b->keys, id);
    const struct view_counts *n = &b->counts[id];
    struct view *v = b->v;
    int r;

    if (v->stack_words > UINT32_MAX / 2)
        return -EFBIG;
    *row = (struct view_row){ .first = (uint32_t)v->stack_words,
                              .samples = n->samples,
                              .value = n->samples * b->p->period,
                              .thread = k->thread };
    r = view_push_roots(b, k);
    if (r == 0)
        r = view_push_stack(b, k->stack);
    if (r < 0)
        return r;
    row->n = (uint32_t)v->stack_words - row->first;
    r = match_count(include->match) ? row_matches(b, include, row, err) : 1;
    if (r > 0 && match_count(exclude->match)) {
        r = row_matches(b, exclude, row, err);
        r = r < 0 ? r : !r;
    }
    if (r <= 0) {
        if (b->spelled[k->stack].first >= row->first)
            b->spelled[k->stack].n = 0; /* its frames are gone again */
        v->stack_words = row->first;
        row->n = 0;
        return r;
    }
    v->samples += n->samples;
    v->unknown += n->unknown;
    v->truncated += n->truncated;
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
    if (!v->rows || !b->key_first)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->keys.count && r == 0; i++) {
        struct view_row *row = &v->rows[v->row_count];

        r = view_make_row(b, i, &include, &exclude, row, err);
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
    v->value = v->samples * b->p->period;
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

int view_new(struct profile *p, const struct view_opts *o, struct view **ret, struct error *err)
{
    struct view *v = calloc(1, sizeof(*v));
    struct view_builder b = { .v = v, .p = p };
    int r = -ENOMEM;

    if (!v)
        return error_set(err, -ENOMEM, "not enough memory to render this profile");
    v->profile = profile_ref(p);
    v->opts = *o;
    match_begin(o->include);
    match_begin(o->exclude);
    id_table_init(&b.keys, sizeof(struct view_key), UINT32_MAX / 2);
    id_table_init(&b.frames, sizeof(struct view_frame), UINT32_MAX / 2);
    buf_init(&b.text, (size_t)64 << 10);
    b.frame_ids = calloc(p->frame_count ? p->frame_count : 1, sizeof(*b.frame_ids));
    b.spelled = calloc(p->stack_count ? p->stack_count : 1, sizeof(*b.spelled));
    if (b.frame_ids && b.spelled)
        r = intern_new(VIEW_STRING_BYTES_MAX, &v->strings);
    if (r == 0 && o->exact)
        r = view_new_sample_rows(v);
    for (size_t i = 0; i < p->sample_count && r == 0; i++) {
        if (view_wants(o, &p->samples[i]))
            r = view_count(&b, i);
    }
    if (r == 0)
        r = view_make_rows(&b, err);
    id_table_deinit(&b.keys);
    id_table_deinit(&b.frames);
    buf_deinit(&b.text);
    free(b.frame_ids);
    free(b.spelled);
    free(b.key_first);
    free(b.counts);
    if (r < 0) {
        view_free(v);
        return r == -EINVAL ? r : error_code(err, r, "cannot render this profile");
    }
    v->opts.include = v->opts.exclude = NULL; /* borrowed for this call only */
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
    free(v);
    return NULL;
}
