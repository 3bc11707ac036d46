/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fnv1a.h"
#include "base/utc_text.h"
#include "event/events.h"
#include "push/export.h"
#include "push/push_impl.h"

/* The part of a minute that one target gets. */
struct minute {
    struct push *push;
    struct push_state *state;
    struct time_range range;
    struct profile *p; /* counted reference; NULL: there are no samples */
    int result;
    struct error err;
};

static void read_minute(void *arg, const struct viewer *v)
{
    struct minute *m = arg;
    const struct push_target *t = m->state->target;
    const struct api_backend *be = m->push->o.backend;
    const struct target_selector selector = { .matchers = t->match.count ? &t->match : NULL,
                                              .viewer = v };

    m->result = be->past(be->ctx, &selector, &m->range, t->events, PAST_RECORDED, &m->p, &m->err);
}

static int add_body(void *cookie, struct span body)
{
    struct minute *m = cookie;

    spool_add(m->state->spool, m->range.from_ns, body); /* the spool counts losses */
    return 0;
}

/* Writes the address of the minute's profile: "https://node:7979/profile?from=…&to=…". */
static void link_of(const struct minute *m, char *buf, size_t size)
{
    const struct push_target *t = m->state->target;
    char from[UTC_TEXT_BYTES], to[UTC_TEXT_BYTES];

    buf[0] = '\0';
    if (t->link[0])
        snprintf(buf, size, "%s/profile?from=%s&to=%s", t->link, utc_text(m->range.from_ns, from),
                 utc_text(m->range.to_ns, to));
}

/* Stores which events the minute has no samples of, because the recorder may not sample them. */
static void note_missing(struct push_state *s, const struct profile *p)
{
    struct span list = span_of(s->target->events), name;
    char *to = s->status.missing;
    size_t used = 0;

    to[0] = '\0';
    while (span_take_until(&list, ',', &name)) {
        char text[EVENT_NAME_BYTES];

        span_copy(name, text, sizeof(text));
        if (!p || !profile_has_event(p, text))
            used += (size_t)snprintf(to + used, sizeof(s->status.missing) - used, "%s%s",
                                     used ? "," : "", text);
    }
}

static int spool_minute(struct minute *m)
{
    struct push_state *s = m->state;
    char link[PUSH_URL_MAX + 96];
    const struct export_opts o = { .protocol = s->target->protocol,
                                   .host = m->push->o.host,
                                   .version = m->push->o.version,
                                   .link = link };
    _cleanup_(fold_freep) struct fold *fold = NULL;
    struct export_counts counts = { 0 };
    int r = fold_new(m->p, s->target->samples_max, &s->series, m->range.to_ns, &fold);

    link_of(m, link, sizeof(link));
    if (r == 0)
        r = export_fold(fold, &o, add_body, m, &counts);
    s->status.samples += counts.samples;
    s->status.dropped_samples += counts.dropped;
    s->status.other_samples += fold ? fold->other_samples : 0;
    return r;
}

/* Spools the next minute of @s. Returns false if the minute could not be read; it then counts as
 * missed. */
static bool take_minute(struct push *p, struct push_state *s)
{
    const struct push_target *t = s->target;
    struct minute m = { .push = p,
                        .state = s,
                        .range = { s->begin_ns, s->begin_ns + t->every_ns },
                        .err = ERROR_NULL };

    if (!t->access[0])
        read_minute(&m, &VIEWER_WHOLE);
    else if (!p->o.viewer(p->o.cookie, t->access, read_minute, &m))
        m.result = error_set(
            &m.err, -ENOENT,
            "push: access: '%s' is not a rule that may see profiles: nothing is sent", t->access);
    if (m.result == 0 || m.result == BACKEND_NOT_FOUND)
        note_missing(s, m.result == 0 ? m.p : NULL);
    if (m.result == 0)
        m.result = spool_minute(&m);
    profile_unref(m.p);
    if (m.result == 0 || m.result == BACKEND_NOT_FOUND)
        return true;
    s->status.missed++;
    push_fail(s, "%s", m.err.msg[0] ? m.err.msg : "a minute could not be read");
    return false;
}

/* Returns whether @t has an event that samples waits. */
static bool has_waits(const struct push_target *t)
{
    return events_listed(span_of(t->events), "wall") ||
           events_listed(span_of(t->events), "offcpu") || events_listed(span_of(t->events), "lock");
}

/* Returns whether all waits of the next minute are known. The recorder counts a thread's wait when
 * it sees that thread wait again. */
static bool waits_are_known(struct push *p, const struct push_state *s)
{
    uint64_t end_ns = s->begin_ns + s->target->every_ns, known_ns = 0;
    struct error err = ERROR_NULL;

    return !has_waits(s->target) ||
           (p->o.backend->past_known(p->o.backend->ctx, &known_ns, &err) == 0 &&
            known_ns >= end_ns);
}

/* Returns the first minute without a body in the spool. flamed may have been killed after it wrote
 * a minute's bodies, and before it stored the begin of the next minute. */
static uint64_t first_not_taken(const struct push_state *s)
{
    uint64_t newest = spool_newest(s->spool), next = spool_next(s->spool);

    return newest ? MAX(next, newest + s->target->every_ns) : next;
}

uint64_t push_spread(const char *node)
{
    return fnv1a(FNV1A_START, node, strlen(node));
}

uint64_t push_first_minute(struct push_state *s, uint64_t now_ns)
{
    uint64_t every = s->target->every_ns, now = now_ns / every * every;
    uint64_t next = (first_not_taken(s) + every - 1) / every * every;

    if (every % PUSH_KEPT_NS || !next || next > now)
        next = now;
    next = MAX(next, now - PUSH_BEHIND_MAX * every);
    spool_set_next(s->spool, next);
    return next;
}

uint64_t push_take_minutes(struct push *p, struct push_state *s, uint64_t now_ns)
{
    uint64_t every = s->target->every_ns, wait = every + PUSH_SETTLE_NS + s->phase_ns;

    if (s->target->protocol == PUSH_WEBHOOK) {
        spool_expire(s->spool, now_ns);
        return UINT64_MAX;
    }
    if (now_ns > s->begin_ns && now_ns - s->begin_ns > PUSH_BEHIND_MAX * every + wait) {
        uint64_t skipped = (now_ns - s->begin_ns - wait) / every;

        s->status.missed += skipped; /* the machine slept, or its clock was set */
        s->begin_ns += skipped * every;
    } else if (s->begin_ns > now_ns + every) {
        s->begin_ns = now_ns / every * every; /* the clock was set back */
    }
    while (now_ns >= s->begin_ns + wait) {
        bool known = waits_are_known(p, s);

        if (!known && now_ns < s->begin_ns + every + s->phase_ns + PUSH_WAITS_NS)
            break; /* the waits may be known soon */
        s->status.incomplete += take_minute(p, s) && !known;
        s->begin_ns += every;
        spool_set_next(s->spool, s->begin_ns);
    }
    spool_expire(s->spool, now_ns);
    return now_ns < s->begin_ns + wait ? s->begin_ns + wait : now_ns + PUSH_LOOK_AGAIN_NS;
}
