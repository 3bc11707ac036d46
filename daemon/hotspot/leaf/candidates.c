/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the bytecode loops that a machine loop without any record can be. Every call that is not
 * inlined has a record. So the code between two records belongs to the methods around the records,
 * or to a method that is called between them and left no record. Such a method has only arithmetic,
 * or arrays of a length that C2 knows.
 */
#include "hotspot/leaf/rule.h"

#define AT_RECORD 40  /* the record right before the loop is of the same method */
#define NESTED 30     /* the loop around has the nesting depth of its bytecodes */
#define SHALLOW (-20) /* nests too few loops, but calls methods that may have some */
#define AGAIN 30      /* a part of the candidate was found before */
#define UNSEEN (-5)   /* the candidate's method left no record */
#define HEAD_BYTES 8  /* bytes of bytecodes before a loop that set it up */

/* Input and output of a search. */
struct search {
    struct leaf_rule *r;
    const struct leaf_before *before;
    struct leaf_candidates *to;
    uint32_t around; /* frames of the innermost known loop around; outer frames do not count */
    int32_t end;     /* bytecode end of that loop, in the innermost of these frames */
};

bool leaf_method_resolved(const struct leaf_input *in, uint32_t method)
{
    if (!in->methods[method].resolved && in->wanted)
        in->wanted[method] = 1;
    return in->methods[method].resolved;
}

bool leaf_place_taken(const struct leaf_rule *r, const struct leaf_place *p)
{
    for (uint32_t l = r->g->loops[r->loop].parent; l != LEAF_NONE; l = r->g->loops[l].parent) {
        const struct leaf_place *other = &r->loops[l].place;

        if (!leaf_graph_pay(r->g, 1))
            return false;
        if (other->span == p->span && r->loops[l].height > r->loops[r->loop].height &&
            other->verdict == LEAF_INFERRED && leaf_place_same(r->in, other, p))
            return true;
    }
    return false;
}

static void add(const struct search *s, struct leaf_place p, int32_t score)
{
    if (s->to->count == LEAF_CANDIDATES_MAX) {
        s->to->more = true;
        return;
    }
    s->to->at[s->to->count++] = (struct leaf_candidate){ p, score };
}

/* Returns whether a call of @m between bytecodes @from and @to leads to loops, or to an unknown
 * method. If the called method only calls others, notes that there may be more candidates. */
static bool calls_loops(const struct search *s, const struct leaf_method *m, int32_t from,
                        int32_t to)
{
    const struct leaf_input *in = s->r->in;

    if (!leaf_graph_pay(s->r->g, 1 + m->invoke_count))
        return false;
    for (uint32_t i = 0; m->resolved && i < m->invoke_count; i++) {
        const struct leaf_invoke *call = &in->invokes[m->invokes + i];
        const struct leaf_method *target;

        if (call->bci <= from || call->bci >= to)
            continue;
        target = call->target == LEAF_NONE ? NULL : &in->methods[call->target];
        if (!target || !target->known || target->count > 0)
            return true;
        s->to->more |= target->invoke_count > 0;
    }
    return !m->resolved && m->invoke_count > 0;
}

/* Scores @span, a loop in the innermost frame @f of @o, by its place. */
static int32_t score_own(const struct search *s, const struct leaf_origin *o, struct leaf_frame f,
                         const struct leaf_span *span)
{
    const struct leaf_before *b = s->before;
    const struct leaf_input *in = s->r->in;
    int32_t score = span->nested < b->nested ? SHALLOW : 0;

    if (leaf_origin_count(in, o) != leaf_origin_count(in, &b->origin) || f.bci != b->origin.bci)
        return score;
    if (b->record && f.bci >= span->head - HEAD_BYTES)
        return score + AT_RECORD;
    return b->inside && span->nested == s->r->loops[s->r->loop].height ? NESTED : score;
}

/* Adds the loops in the innermost frame of @o itself, between the bci of @o and @to. */
static void add_own(const struct search *s, const struct leaf_origin *o, struct leaf_frame f,
                    int32_t to)
{
    const struct leaf_input *in = s->r->in;
    const struct leaf_method *m = &in->methods[f.method];

    for (uint32_t i = m->first; i < m->first + m->count; i++) {
        const struct leaf_span *span = &in->spans[i];
        struct leaf_place p = leaf_place_of(o->chain, o->drop, LEAF_INFERRED);

        p.span = i;
        p.bci = MAX(span->head, f.bci);
        if (span->end - 1 > f.bci && span->head < to && !leaf_place_taken(s->r, &p) &&
            (span->nested >= s->before->nested || calls_loops(s, m, span->head, span->end)))
            add(s, p, score_own(s, o, f, span));
    }
}

/* Returns whether @method is already one of the frames of @o. A recursive call has the same
 * name. */
static bool is_recursive(const struct search *s, const struct leaf_origin *o, uint32_t method)
{
    for (uint32_t i = 0, n = leaf_origin_count(s->r->in, o); i < n; i++) {
        if (leaf_origin_frame(s->r->in, o, i).method == method)
            return true;
    }
    return false;
}

/* Returns whether the innermost frame of @o has a call at @bci that is not inlined. */
static bool is_called(const struct search *s, const struct leaf_origin *o, int32_t bci)
{
    const struct leaf_rule *r = s->r;
    struct leaf_origin at = { o->chain, o->drop, bci };
    uint32_t n = leaf_origin_count(r->in, &at);

    if (!leaf_graph_pay(r->g, 1 + r->in->chain_count))
        return false;
    for (uint32_t c = 0; c < r->in->chain_count; c++) {
        struct leaf_origin call = leaf_origin_of(r->in, (struct leaf_find){ .chain = c });

        if (r->called[c] && call.bci == bci && leaf_origin_count(r->in, &call) == n &&
            leaf_origin_common(r->in, &at, &call) == n)
            return true;
    }
    return false;
}

/* Adds the callees of the innermost frame of @o, between the bci of @o and @to. */
static void add_calls(const struct search *s, const struct leaf_origin *o, struct leaf_frame f,
                      int32_t to)
{
    const struct leaf_input *in = s->r->in;
    const struct leaf_method *m = &in->methods[f.method];

    if (m->invoke_count == 0)
        return;
    if (!leaf_method_resolved(in, f.method)) {
        s->to->more = true;
        return;
    }
    for (uint32_t i = 0; i < m->invoke_count; i++) {
        const struct leaf_invoke *call = &in->invokes[m->invokes + i];
        struct leaf_place p = leaf_place_of(o->chain, o->drop, LEAF_INFERRED);
        const struct leaf_method *target;

        if (call->bci <= f.bci || call->bci >= to || is_called(s, o, call->bci))
            continue;
        target = call->target == LEAF_NONE ? NULL : &in->methods[call->target];
        if (!target || !target->known) {
            s->to->more = true;
            continue;
        }
        if ((target->count == 0 && target->invoke_count == 0) || is_recursive(s, o, call->target))
            continue;
        p.bci = call->bci;
        p.callee = call->target;
        p.callee_bci = target->count > 0 ? in->spans[target->first].head : -1;
        p.verdict = target->count > 0 ? LEAF_INFERRED : LEAF_UNSURE;
        add(s, p, UNSEEN);
    }
}

/* Searches the innermost frame of @o, behind the bci of @o and before @to. */
static void search_frame(const struct search *s, const struct leaf_origin *o, int32_t to)
{
    struct leaf_frame f = leaf_origin_frame(s->r->in, o, leaf_origin_count(s->r->in, o) - 1);
    const struct leaf_method *m = &s->r->in->methods[f.method];

    if (!m->known) {
        s->to->more = true;
        return;
    }
    if (!leaf_graph_pay(s->r->g, 1 + m->count + m->invoke_count))
        return;
    add_own(s, o, f, to);
    add_calls(s, o, f, to);
}

/* Returns the outermost @count frames of @o, with @bci as position. */
static struct leaf_origin cut(const struct leaf_input *in, const struct leaf_origin *o,
                              uint32_t count, int32_t bci)
{
    return (struct leaf_origin){ o->chain, o->drop + leaf_origin_count(in, o) - count, bci };
}

/* Returns the innermost loop of @method that contains bytecodes @a and @b; NULL: none. */
static const struct leaf_span *span_of_both(const struct leaf_input *in, uint32_t method, int32_t a,
                                            int32_t b)
{
    const struct leaf_method *m = &in->methods[method];

    for (uint32_t i = m->first; i < m->first + m->count; i++) {
        const struct leaf_span *span = &in->spans[i];

        if (a >= span->head && a < span->end && b >= span->head && b < span->end)
            return span;
    }
    return NULL;
}

/* Sets the innermost known loop around the current one. */
static void set_around(struct search *s)
{
    const struct leaf_rule *r = s->r;

    s->around = 0;
    s->end = INT32_MAX;
    for (uint32_t l = r->g->loops[r->loop].parent; l != LEAF_NONE; l = r->g->loops[l].parent) {
        const struct leaf_place *p = &r->loops[l].place;
        const struct leaf_origin o = { p->chain, p->drop, 0 };

        if (p->verdict == LEAF_UNSURE || p->span == LEAF_NONE || p->callee != LEAF_NONE)
            continue;
        s->around = leaf_origin_count(r->in, &o);
        s->end = r->in->spans[p->span].end;
        return;
    }
}

/* Returns the upper bound of a search in the innermost frame of @o. */
static int32_t end_of(const struct search *s, const struct leaf_origin *o)
{
    return leaf_origin_count(s->r->in, o) == s->around ? s->end : INT32_MAX;
}

/* Searches the innermost common frame from @from to @to. If @to is before @from, searches round the
 * loop that contains both. */
static void search_common(const struct search *s, const struct leaf_origin *from, int32_t to,
                          bool forward)
{
    const struct leaf_input *in = s->r->in;
    struct leaf_frame f = leaf_origin_frame(in, from, leaf_origin_count(in, from) - 1);
    struct leaf_origin head = *from;
    const struct leaf_span *round;

    if (forward) {
        search_frame(s, from, MIN(to, end_of(s, from)));
        return;
    }
    round = span_of_both(in, f.method, f.bci, to);
    search_frame(s, from, round ? round->end : end_of(s, from));
    if (round) {
        head.bci = round->head - 1;
        search_frame(s, &head, to);
    }
}

/* Returns whether machine loop @l is known and has the nesting depth of its bytecode loop. */
static bool is_sure(const struct leaf_rule *r, uint32_t l)
{
    const struct leaf_place *p = &r->loops[l].place;

    return p->verdict == LEAF_INFERRED &&
           (p->span == LEAF_NONE || r->in->spans[p->span].nested == r->loops[l].height);
}

void leaf_candidates_find(struct leaf_rule *r, const struct leaf_before *before,
                          struct leaf_find behind, struct leaf_candidates *ret)
{
    const struct leaf_input *in = r->in;
    struct search s = { .r = r, .before = before, .to = ret };
    const struct leaf_origin *from = &before->origin;
    struct leaf_origin to = leaf_origin_of(in, behind);
    uint32_t from_count = leaf_origin_count(in, from), to_count = leaf_origin_count(in, &to);
    uint32_t common = behind.chain == LEAF_NONE ? 0 : leaf_origin_common(in, from, &to);

    ret->count = 0;
    ret->more = false;
    set_around(&s);
    if (before->again != LEAF_NONE && is_sure(r, before->again))
        add(&s, r->loops[before->again].place, AGAIN);
    for (uint32_t n = from_count; n > common && n >= s.around; n--) {
        struct leaf_origin o = cut(in, from, n, leaf_origin_frame(in, from, n - 1).bci);

        search_frame(&s, &o, end_of(&s, &o));
    }
    if (common > 0 && common >= s.around) {
        int32_t bci = leaf_origin_frame(in, from, common - 1).bci;
        int32_t end = leaf_origin_frame(in, &to, common - 1).bci;
        struct leaf_origin o = cut(in, from, common, bci);

        search_common(&s, &o, end,
                      end > bci || (end == bci && (from_count > common || to_count > common)));
    }
    for (uint32_t n = common + 1; common > 0 && n <= to_count; n++) {
        struct leaf_origin o = cut(in, &to, n, -1);

        search_frame(&s, &o, leaf_origin_frame(in, &to, n - 1).bci);
    }
}
