/* SPDX-License-Identifier: Apache-2.0 */
/* Spells the frames of the rows of a view. */
#include "base/memory_guard.h"
#include "profile/frame_name.h"
#include "profile/view_impl.h"

static int view_intern(struct view_builder *b, struct span s, uint32_t *ret)
{
    int r = intern_add(b->v->strings, s, ret);

    return r == -ENOSPC ? -EFBIG : r;
}

static int view_add_frame(struct view_builder *b, struct view_frame *f, struct span name,
                          uint32_t *ret)
{
    int r = view_intern(b, name, &f->name);

    return r < 0 ? r : MIN(id_table_add(&b->frames, f, ret), 0);
}

static int view_mark(struct view_builder *b, enum frame_kind kind, struct span name, uint32_t *ret)
{
    struct view_frame vf = { .kind = (uint32_t)kind };

    return view_add_frame(b, &vf, name, ret);
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
    if (b->v->opts.hide_kernel && f->kind == FRAME_KERNEL) {
        r = view_mark(b, FRAME_KERNEL, SPAN("[kernel]"), ret);
        if (r == 0)
            b->frame_ids[frame] = b->hidden = *ret + 1;
        return r;
    }
    if (b->v->opts.lines || b->v->opts.keep_lines || b->v->opts.exact)
        vf.line = f->line;
    if (b->v->opts.exact)
        vf.frame = frame;
    buf_clear(&b->text);
    frame_name_spell(b->p, &b->v->opts, f, &b->text);
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

/* Makes room for @n more frames. */
static int view_reserve(struct view_builder *b, size_t n)
{
    struct view *v = b->v;

    if (v->stack_words + n > b->stack_cap) {
        size_t cap = MAX(MAX(b->stack_cap + b->stack_cap / 2, (size_t)4096), v->stack_words + n);
        uint32_t *stack = memory_guard_admits((cap - b->stack_cap) * sizeof(*stack))
                              ? reallocarray(v->stack, cap, sizeof(*stack))
                              : NULL;

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

int view_mark_text(struct view_builder *b, enum frame_kind kind, uint32_t *ret)
{
    return view_mark(b, kind, buf_span(&b->text), ret);
}

void view_spell_numbered(struct view_builder *b, struct span name, const char *what, int32_t number)
{
    buf_add_char(&b->text, '[');
    buf_add_span(&b->text, name);
    if (number > 0 && b->v->opts.names != VIEW_NAMES_MERGED) /* it differs in each start */
        buf_printf(&b->text, " %s=%d", what, number);
    buf_add_str(&b->text, "]");
}

static int view_add_root(struct view_builder *b, struct view_roots *roots, enum frame_kind kind,
                         uint32_t name, const char *what, int32_t number)
{
    buf_clear(&b->text);
    view_spell_numbered(b, intern_get(b->p->strings, name), what, number);
    return view_mark_text(b, kind, &roots->frames[roots->n++]);
}

/* Appends the frames @from to @to - 1 of a group. */
static void view_add_groups(const struct view_builder *b, uint32_t group, uint32_t from,
                            uint32_t to, struct view_roots *roots)
{
    const struct view_group *g = id_table_get(&b->groups, group);

    for (uint32_t i = from; i < to && b->v->opts.by[i]; i++)
        roots->frames[roots->n++] = g->frames[i];
}

static int view_make_roots(struct view_builder *b, const struct view_key *k, struct view_roots *ret)
{
    const struct profile *p = b->p;
    uint32_t above = view_groups_above(&b->v->opts);
    bool grouped = k->group != UINT32_MAX;
    int r = 0;

    if (grouped)
        view_add_groups(b, k->group, 0, above, ret);
    if (k->process != UINT32_MAX)
        r = view_add_root(b, ret, FRAME_PROCESS, p->processes[k->process].name, "pid",
                          p->processes[k->process].host_pid);
    if (grouped)
        view_add_groups(b, k->group, above, VIEW_BY_MAX, ret);
    else if (r == 0 && k->thread != UINT32_MAX)
        r = view_add_root(b, ret, FRAME_THREAD, p->threads[k->thread].name, "tid",
                          p->threads[k->thread].host_tid);
    ret->made = true;
    return r;
}

int view_push_roots(struct view_builder *b, const struct view_key *k)
{
    struct view_roots *roots = &b->roots[view_root(b, k)];
    int r = roots->made ? 0 : view_make_roots(b, k, roots);

    for (uint32_t i = 0; i < roots->n && r == 0; i++)
        r = view_push(b, roots->frames[i]);
    return r;
}

/* Joins adjacent "[kernel]" frames to one. */
static void view_join_hidden(struct view_builder *b, size_t first)
{
    struct view *v = b->v;
    size_t to = first;

    for (size_t i = first; i < v->stack_words; i++) {
        if (to > first && v->stack[i] == v->stack[to - 1] && v->stack[i] == b->hidden - 1)
            continue;
        v->stack[to++] = v->stack[i];
    }
    v->stack_words = to;
}

/* Returns whether @frame is left out: inlined native code, if the options show no lines. So stacks
 * recorded with lines are equal to stacks recorded without. */
static bool view_folds(const struct view_builder *b, uint32_t frame)
{
    const struct view_opts *o = &b->v->opts;

    return b->p->frames[frame].kind == FRAME_NATIVE_INLINED && !o->lines && !o->keep_lines;
}

static size_t view_depth(const struct view_builder *b, uint32_t stack)
{
    const struct profile *p = b->p;
    size_t n = 0;

    for (; p->stacks[stack].depth; stack = p->stacks[stack].parent)
        n += !view_folds(b, p->stacks[stack].frame);
    return n;
}

/* Appends the frames of a stack, root first; with a depth limit the middle becomes one "[...]". */
static int view_spell_stack(struct view_builder *b, uint32_t stack)
{
    const struct profile *p = b->p;
    size_t n = view_depth(b, stack), depth = b->v->opts.depth, cut_from = n, cut_to = n, first;
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
    for (size_t i = n; i > 0 && r == 0; stack = p->stacks[stack].parent) {
        if (view_folds(b, p->stacks[stack].frame))
            continue;
        r = view_frame_id(b, p->stacks[stack].frame, &id);
        b->v->stack[first + --i] = id;
    }
    if (r == 0 && cut_from < cut_to) {
        r = view_mark(b, FRAME_TRUNCATED, SPAN("[\xe2\x80\xa6]"), &id);
        b->v->stack[first + cut_from] = id;
        memmove(b->v->stack + first + cut_from + 1, b->v->stack + first + cut_to,
                (n - cut_to) * sizeof(*b->v->stack));
        b->v->stack_words = first + cut_from + 1 + (n - cut_to);
    }
    if (r == 0 && b->hidden)
        view_join_hidden(b, first);
    return r;
}

/* Appends a leaf that names the wait of the thread. */
static int view_push_wait(struct view_builder *b, const struct view_key *k)
{
    const struct view_opts *o = &b->v->opts;
    enum wait wait;
    char name[32];
    uint32_t id;
    bool idle;
    int r;

    if (k->state != STATE_BLOCKED || !b->waits || !(o->waits || o->annotate) ||
        frame_kind_is_wait(b->p->frames[b->p->stacks[k->stack].frame].kind))
        return 0;
    wait = waits_of(b->waits, k->stack, &idle);
    snprintf(name, sizeof(name), "[%s]", WAIT_NAMES[wait]);
    r = view_mark(b, wait_frame(wait), span_of(name), &id);
    return r == 0 ? view_push(b, id) : r;
}

static int view_spell_body(struct view_builder *b, const struct view_key *k)
{
    uint32_t id;
    int r = 0;

    if (k->truncated) {
        r = view_mark(b, FRAME_TRUNCATED, SPAN("[truncated]"), &id) ?: view_push(b, id);
    }
    if (r == 0)
        r = view_spell_stack(b, k->stack);
    return r == 0 ? view_push_wait(b, k) : r;
}

/* Spells a body only once, because several threads may have the same. */
int view_push_body(struct view_builder *b, const struct view_key *k)
{
    struct view_spelled *at = &b->spelled[view_body(k)];
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
    r = view_spell_body(b, k);
    if (r == 0)
        *at = (struct view_spelled){ (uint32_t)first, (uint32_t)(v->stack_words - first) };
    return r;
}
