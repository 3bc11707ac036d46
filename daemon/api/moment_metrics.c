/* SPDX-License-Identifier: Apache-2.0 */
/* How long JVMs stopped, as Prometheus histograms: of those that captures of event safepoint saw.
 */
#include "api/api_impl.h"
#include "api/exposition.h"

struct family {
    const char *name, *help;
    size_t histogram; /* where in struct telling */
};

static const struct family FAMILIES[] = {
    { "flamed_jvm_pause_seconds",
      "Time at safepoints, from the wish to stop until threads went on, while captures of event "
      "safepoint ran.",
      offsetof(struct telling, pauses) },
    { "flamed_jvm_time_to_safepoint_seconds",
      "Time until all threads had stopped for a safepoint, while captures of event safepoint ran.",
      offsetof(struct telling, reaches) },
};

/* A line of @f for the JVM with @labels: its bucket @le, or what else @suffix says. */
static void line(const struct family *f, const char *suffix, const struct buf *labels,
                 const char *le, double value, struct buf *out)
{
    buf_printf(out, "%s%s{", f->name, suffix);
    buf_add_span(out, buf_span(labels));
    if (le)
        buf_printf(out, ",le=\"%s\"", le);
    buf_add_str(out, "} ");
    metric_value(out, value);
}

static void write_histogram(const struct family *f, const struct moment_histogram *h,
                            const struct buf *labels, struct buf *out)
{
    uint64_t sum = 0;
    char le[32];

    for (size_t i = 0; i < MOMENTS_BOUNDS; i++) {
        sum += h->counts[i];
        snprintf(le, sizeof(le), "%g", (double)MOMENTS_BOUNDS_NS[i] / 1e9);
        line(f, "_bucket", labels, le, (double)sum, out);
    }
    sum += h->counts[MOMENTS_BOUNDS];
    line(f, "_bucket", labels, "+Inf", (double)sum, out);
    line(f, "_sum", labels, NULL, (double)h->sum_ns / 1e9, out);
    line(f, "_count", labels, NULL, (double)sum, out);
}

struct writing {
    const struct moments *moments;
    const struct target *seen;
    const struct family *family;
    struct buf *out;
};

static int write_jvm(void *cookie, struct process *p)
{
    struct writing *w = cookie;
    const struct telling *t = p->jvm == JVM_NO || p->exited ? NULL : moments_of(w->moments, &p->id);
    _cleanup_buf_ struct buf labels = BUF_NULL;

    if (!t || !target_sees(w->seen, p))
        return 0;
    buf_init(&labels, (size_t)64 << 10);
    metric_jvm_labels(&labels, p);
    write_histogram(
        w->family,
        (const struct moment_histogram *)(const void *)((const char *)t + w->family->histogram),
        &labels, w->out);
    return 0;
}

void moment_metrics(struct api *api, const struct viewer *v, struct buf *out)
{
    struct writing w = { .moments = &api->engine.captures->moments, .out = out };
    struct target_selector all = { .viewer = v };
    _cleanup_(target_freep) struct target *seen = NULL;

    if (target_new(&all, &seen, NULL) != 0)
        return;
    w.seen = seen;
    for (size_t i = 0; i < ARRAY_SIZE(FAMILIES); i++) {
        w.family = &FAMILIES[i];
        metric_head(out, FAMILIES[i].name, "histogram", FAMILIES[i].help);
        discover_each(api->engine.discover, write_jvm, &w);
    }
}
