/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of samples, as separate events. The JDK's events cannot have further fields, because
 * readers identify their fields by position.
 */
#include "base/cleanup.h"
#include "profile/handlers.h"
#include "render/jfr/jfr.h"

/* Successive samples of one thread in one span. */
struct stretch {
    uint64_t start_ns, end_ns, samples;
    uint32_t context; /* 0: none */
    uint32_t handler; /* function that names the operation; 0: none, or a tracer names it */
};

/* Appends an id of @c; "" if @c has only an operation. */
static void add_id(const struct profile_context *c, uint64_t high, uint64_t low, bool wide,
                   struct buf *out)
{
    char text[33] = "";

    if (wide && profile_context_has_ids(c))
        snprintf(text, sizeof(text), "%016llx%016llx", (unsigned long long)high,
                 (unsigned long long)low);
    else if (profile_context_has_ids(c))
        snprintf(text, sizeof(text), "%016llx", (unsigned long long)low);
    jfr_add_string(out, span_of(text));
}

static void add_operation(const struct profile *p, const struct stretch *s,
                          const struct handlers *handlers, struct buf *out)
{
    _cleanup_buf_ struct buf name = BUF_UPTO(HANDLERS_TEXT_MAX);

    if (!s->handler) {
        jfr_add_string(out, intern_get(p->strings, p->contexts[s->context].operation));
        return;
    }
    handlers_name(handlers, s->handler, &name);
    jfr_add_string(out, buf_span(&name));
}

static void add_stretch(const struct jfr_pools *pools, uint32_t thread, const struct stretch *s,
                        const struct handlers *handlers, struct buf *out)
{
    const struct profile *p = pools->v->profile;
    const struct profile_context *c = &p->contexts[s->context];
    size_t begin;

    if (!s->context && !s->handler)
        return;
    begin = jfr_begin(out, JFR_REQUEST);
    jfr_add_number(out, s->start_ns);
    jfr_add_number(out, s->end_ns - s->start_ns);
    jfr_add_number(out, pools->key_of_thread[thread]);
    add_id(c, c->trace_high, c->trace_low, true, out);
    add_id(c, 0, c->span, false, out);
    add_id(c, 0, c->root, false, out);
    add_operation(p, s, handlers, out);
    jfr_add_number(out, s->samples);
    jfr_end(out, begin);
}

int jfr_add_requests(const struct jfr_pools *pools, struct buf *out)
{
    const struct view *v = pools->v;
    const struct profile *p = v->profile;
    _cleanup_(handlers_freep) struct handlers *handlers = NULL;
    _cleanup_free_ struct stretch *threads = calloc(p->thread_count + 1, sizeof(*threads));

    if (!threads || (p->context_count && handlers_new(p, &handlers) < 0))
        return -ENOMEM;
    for (size_t i = 0; v->sample_rows && p->context_count && i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        struct stretch *t = &threads[MIN((size_t)s->thread, p->thread_count)];
        bool known = s->context < p->context_count && request_known(&p->contexts[s->context]);
        uint32_t context = known ? s->context : 0, handler;

        if (v->sample_rows[i] == VIEW_NO_ROW || s->thread >= p->thread_count)
            continue;
        handler = handlers_of(handlers, s);
        if (context != t->context || handler != t->handler) {
            add_stretch(pools, s->thread, t, handlers, out);
            *t = (struct stretch){ .start_ns = s->time_ns, .context = context, .handler = handler };
        }
        t->end_ns = s->time_ns;
        t->samples += s->count;
    }
    for (size_t i = 0; i < p->thread_count && p->context_count; i++)
        add_stretch(pools, (uint32_t)i, &threads[i], handlers, out);
    return 0;
}
