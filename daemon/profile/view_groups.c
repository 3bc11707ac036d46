/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a view: which samples are wanted, and a frame at the root for each. */
#include "profile/view_impl.h"

/* The request of @s; NULL: nothing is known of any. */
static const struct profile_context *context_of(const struct profile *p,
                                                const struct profile_sample *s)
{
    return s->context && s->context < p->context_count ? &p->contexts[s->context] : NULL;
}

/* Whether the name of @s's operation matches: asked once a request. 1; 0; -errno with @err. */
static int operation_matches(struct view_builder *b, const struct profile_sample *s,
                             struct error *err)
{
    const struct profile_context *c = context_of(b->p, s);
    int r;

    if (!c || !c->operation)
        return 0;
    if (!b->operations)
        b->operations = calloc(b->p->context_count, sizeof(*b->operations));
    if (!b->operations)
        return -ENOMEM;
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

    if ((o->trace_high || o->trace_low) &&
        (!c || c->trace_high != o->trace_high || c->trace_low != o->trace_low))
        return 0;
    if (o->span && (!c || c->span != o->span))
        return 0;
    return match_count(o->operation) ? operation_matches(b, s, err) : 1;
}

int view_group_of(struct view_builder *b, const struct profile_sample *s, uint32_t process,
                  uint32_t *ret)
{
    const struct profile_context *c = context_of(b->p, s);
    struct view_group g = { .process = process };
    int r;

    if (c && b->v->opts.by == VIEW_BY_TRACE) {
        g.trace_high = c->trace_high;
        g.trace_low = c->trace_low;
    } else if (c && b->v->opts.by == VIEW_BY_SPAN) {
        g.trace_low = c->span;
    } else if (c) {
        g.operation = c->operation;
    }
    if (c && !g.operation && !g.trace_high && !g.trace_low)
        g.state = c->state;
    r = id_table_add(&b->groups, &g, ret);
    return r == -ENOSPC ? -EFBIG : MIN(r, 0);
}

void view_spell_group(struct view_builder *b, uint32_t group)
{
    static const char *const WITHOUT[PROFILE_CONTEXT_STATES] = {
        [PROFILE_CONTEXT_UNASKED] = "[request not read]",
        [PROFILE_CONTEXT_NO_TRACER] = "[no tracer]",
        [PROFILE_CONTEXT_UNREADABLE] = "[request unreadable]",
        [PROFILE_CONTEXT_NO_REQUEST] = "[no request]",
        [PROFILE_CONTEXT_IDS] = "[unnamed requests]",
        [PROFILE_CONTEXT_NAMED] = "[unnamed requests]",
    };
    const struct view_group *g = id_table_get(&b->groups, group);
    struct span name = intern_get(b->p->strings, g->operation);

    if (g->trace_low && b->v->opts.by == VIEW_BY_SPAN)
        buf_printf(&b->text, "[span %016llx]", (unsigned long long)g->trace_low);
    else if (g->trace_high || g->trace_low)
        buf_printf(&b->text, "[trace %016llx%016llx]", (unsigned long long)g->trace_high,
                   (unsigned long long)g->trace_low);
    else if (!name.n)
        buf_add_str(&b->text, WITHOUT[g->state < PROFILE_CONTEXT_STATES ? g->state : 0]);
    else if (name.p[0] == '[') /* "[other operations]" */
        buf_add_span(&b->text, name);
    else
        buf_printf(&b->text, "[%.*s]", (int)name.n, name.p);
}
