/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of a view: filters samples by request, and makes the frames of view_opts.by. */
#include "profile/view_impl.h"

#include "base/ascii.h"

/* Returns the request of @s; NULL: not known. */
static const struct profile_context *context_of(const struct profile *p,
                                                const struct profile_sample *s)
{
    return s->context && s->context < p->context_count ? &p->contexts[s->context] : NULL;
}

static bool groups_by(const struct view_opts *o, enum view_by by)
{
    return memchr(o->by, by, sizeof(o->by));
}

int view_groups_begin(struct view_builder *b)
{
    const struct view_opts *o = &b->v->opts;
    int r = o->kinds || groups_by(o, VIEW_BY_KIND) ? thread_kinds_new(b->p, &b->kinds) : 0;

    if (r < 0 || (!groups_by(o, VIEW_BY_OPERATION) && !match_count(o->operation)))
        return r;
    b->operations = calloc(b->p->context_count + 1, sizeof(*b->operations));
    b->handled = calloc(b->p->function_count + 1, sizeof(*b->handled));
    return b->operations && b->handled ? handlers_new(b->p, &b->handlers) : -ENOMEM;
}

/* Does the same as operation_matches() for the handler on the stack of @s. */
static int handler_matches(struct view_builder *b, const struct profile_sample *s,
                           struct error *err)
{
    uint32_t function = handlers_of(b->handlers, s);
    int r;

    if (!function)
        return 0;
    if (!b->handled[function]) {
        buf_clear(&b->text);
        handlers_name(b->handlers, function, &b->text);
        r = b->text.error ? b->text.error
                          : match_any(b->v->opts.operation, buf_span(&b->text), err);
        if (r < 0)
            return r;
        b->handled[function] = r ? 2 : 1;
    }
    return b->handled[function] == 2;
}

/* Returns 1 if the operation of @s matches, else 0. Matches each request only once. -errno with
 * @err. */
static int operation_matches(struct view_builder *b, const struct profile_sample *s,
                             struct error *err)
{
    const struct profile_context *c = context_of(b->p, s);
    int r;

    if (!c || !c->operation)
        return handler_matches(b, s, err);
    if (!b->operations[s->context]) {
        r = match_any(b->v->opts.operation, intern_get(b->p->strings, c->operation), err);
        if (r < 0)
            return r;
        b->operations[s->context] = r ? 2 : 1;
    }
    return b->operations[s->context] == 2;
}

int view_wants_context(struct view_builder *b, const struct profile_sample *s, struct error *err)
{
    const struct view_opts *o = &b->v->opts;
    const struct profile_context *c = context_of(b->p, s);
    bool one = o->trace_high || o->trace_low || o->span;

    if (one && c && c->state >= PROFILE_CONTEXT_IDS && !profile_context_has_ids(c)) {
        b->v->without_ids += s->count;
        return 0;
    }
    if ((o->trace_high || o->trace_low) &&
        (!c || c->trace_high != o->trace_high || c->trace_low != o->trace_low))
        return 0;
    if (o->span && (!c || c->span != o->span))
        return 0;
    return match_count(o->operation) ? operation_matches(b, s, err) : 1;
}

/* ---- frames at the root ---- */

uint32_t view_groups_above(const struct view_opts *o)
{
    uint32_t n = 0;

    while (n < VIEW_BY_MAX && (o->by[n] == VIEW_BY_SERVICE || o->by[n] == VIEW_BY_VERSION))
        n++;
    return n;
}

/* Appends "[pool-*-thread-*]", which is equal for names that differ by numbers only. Keeps the
 * digits in the names G1, C1 and C2 of HotSpot's threads. */
static void spell_pool(struct view_builder *b, struct span name)
{
    static const char *const KINDS[] = { "G1 ", "C1 ", "C2 " };
    bool in_number = false;

    buf_add_char(&b->text, '[');
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        if (span_take_str(&name, KINDS[i]))
            buf_add_str(&b->text, KINDS[i]);
    }
    for (size_t i = 0; i < name.n; i++) {
        bool digit = ascii_is_digit(name.p[i]);

        if (!digit)
            buf_add_char(&b->text, name.p[i]);
        else if (!in_number)
            buf_add_char(&b->text, '*');
        in_number = digit;
    }
    buf_add_char(&b->text, ']');
}

static void spell_thread(struct view_builder *b, enum view_by by, size_t thread)
{
    const struct profile_thread *t = &b->p->threads[thread];
    struct span name;

    if (thread >= b->p->thread_count) {
        buf_add_str(&b->text, "[unknown thread]");
        return;
    }
    name = intern_get(b->p->strings, t->name);
    if (by == VIEW_BY_POOL)
        spell_pool(b, name);
    else
        view_spell_numbered(b, name, "tid", t->host_tid);
}

/* Appends the service of a process, or its version. */
static void spell_service(struct view_builder *b, enum view_by by, size_t process)
{
    const struct profile_process *p = &b->p->processes[process];
    bool known = process < b->p->process_count;
    struct span text = SPAN_NULL;

    if (known)
        text = intern_get(b->p->strings, by == VIEW_BY_SERVICE ? p->service : p->version);
    if (!text.n)
        buf_add_str(&b->text, by == VIEW_BY_SERVICE ? "[no service]" : "[no version]");
    else
        buf_printf(&b->text, by == VIEW_BY_SERVICE ? "[%.*s]" : "[version %.*s]", (int)text.n,
                   text.p);
}

static void spell_request(struct view_builder *b, enum view_by by, const struct profile_context *c)
{
    static const char *const WITHOUT[PROFILE_CONTEXT_STATES] = {
        [PROFILE_CONTEXT_UNASKED] = "[request not read]",
        [PROFILE_CONTEXT_NO_TRACER] = "[no tracer]",
        [PROFILE_CONTEXT_UNREADABLE] = "[request unreadable]",
        [PROFILE_CONTEXT_NO_REQUEST] = "[no request]",
        [PROFILE_CONTEXT_IDS] = "[unnamed requests]",
        [PROFILE_CONTEXT_NAMED] = "[unnamed requests]",
    };
    uint32_t state = c && c->state < PROFILE_CONTEXT_STATES ? c->state : PROFILE_CONTEXT_UNASKED;
    bool request = state >= PROFILE_CONTEXT_IDS;
    struct span name = c ? intern_get(b->p->strings, c->operation) : SPAN_NULL;

    if (c && by == VIEW_BY_SPAN && c->span)
        buf_printf(&b->text, "[span %016llx]", (unsigned long long)c->span);
    else if (c && by == VIEW_BY_TRACE && (c->trace_high || c->trace_low))
        buf_printf(&b->text, "[trace %016llx%016llx]", (unsigned long long)c->trace_high,
                   (unsigned long long)c->trace_low);
    else if (by != VIEW_BY_OPERATION && request)
        buf_add_str(&b->text, "[ids not kept]");
    else if (by != VIEW_BY_OPERATION || !name.n)
        buf_add_str(&b->text, WITHOUT[state]);
    else if (name.p[0] == '[') /* "[other operations]" */
        buf_add_span(&b->text, name);
    else
        buf_printf(&b->text, "[%.*s]", (int)name.n, name.p);
}

/* Returns the index of the member of @by that @s belongs to: a thread, a context, a process, a
 * state or a kind. *ret_count: number of members, which is also the index if the member is
 * unknown. */
static size_t member_of(const struct view_builder *b, enum view_by by,
                        const struct profile_sample *s, size_t *ret_count)
{
    const struct profile *p = b->p;
    size_t thread = MIN((size_t)s->thread, p->thread_count);
    uint32_t handler = by == VIEW_BY_OPERATION ? handlers_of(b->handlers, s) : 0;

    switch (by) {
    case VIEW_BY_THREAD:
    case VIEW_BY_POOL:
        *ret_count = p->thread_count;
        return thread;
    case VIEW_BY_STATE:
        *ret_count = STATE_COUNT;
        return sample_state(p, s);
    case VIEW_BY_KIND:
        *ret_count = THREAD_KINDS;
        return thread_kinds_of(b->kinds, s);
    case VIEW_BY_SERVICE:
    case VIEW_BY_VERSION:
        *ret_count = p->process_count;
        return thread < p->thread_count ? p->threads[thread].process : p->process_count;
    default: /* contexts first, then functions that handle requests */
        *ret_count = p->context_count + p->function_count;
        return handler ? p->context_count + handler : MIN((size_t)s->context, p->context_count);
    }
}

static int make_group_frame(struct view_builder *b, enum view_by by, size_t member,
                            const struct profile_sample *s, uint32_t *ret)
{
    enum frame_kind kind = FRAME_REQUEST;
    const char *state;

    buf_clear(&b->text);
    switch (by) {
    case VIEW_BY_THREAD:
    case VIEW_BY_POOL:
        kind = FRAME_THREAD;
        spell_thread(b, by, member);
        break;
    case VIEW_BY_STATE:
        state = STATE_NAMES[member];
        buf_printf(&b->text, "[%s]", *state ? state : "no state");
        break;
    case VIEW_BY_KIND:
        buf_printf(&b->text, "[%s]", THREAD_KIND_NAMES[member]);
        break;
    case VIEW_BY_SERVICE:
    case VIEW_BY_VERSION:
        spell_service(b, by, member);
        break;
    default:
        if (member > b->p->context_count) {
            buf_add_char(&b->text, '[');
            handlers_name(b->handlers, (uint32_t)(member - b->p->context_count), &b->text);
            buf_add_char(&b->text, ']');
        } else {
            spell_request(b, by, context_of(b->p, s));
        }
    }
    return view_mark_text(b, kind, ret);
}

int view_group_of(struct view_builder *b, const struct profile_sample *s, uint32_t process,
                  uint32_t *ret)
{
    struct view_group g = { .process = process };
    int r = 0;

    for (size_t i = 0; i < VIEW_BY_MAX && b->v->opts.by[i] && r == 0; i++) {
        enum view_by by = b->v->opts.by[i];
        size_t count, member = member_of(b, by, s, &count);

        if (!b->group_frames[i])
            b->group_frames[i] = calloc(count + 1, sizeof(*b->group_frames[i]));
        if (!b->group_frames[i])
            return -ENOMEM;
        if (!b->group_frames[i][member]) {
            r = make_group_frame(b, by, member, s, &g.frames[i]);
            b->group_frames[i][member] = r == 0 ? g.frames[i] + 1 : 0;
        } else {
            g.frames[i] = b->group_frames[i][member] - 1;
        }
    }
    if (r == 0)
        r = id_table_add(&b->groups, &g, ret);
    return r == -ENOSPC ? -EFBIG : MIN(r, 0);
}
