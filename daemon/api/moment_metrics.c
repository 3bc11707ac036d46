/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of stops as Prometheus histograms, for JVMs with counters that flamed reads. */
#include "api/api_impl.h"
#include "api/exposition.h"

struct family {
    const char *name, *help;
    size_t histogram; /* offset in struct pauses */
};

#define FROM_COUNTERS                                                                              \
    " By the JVM's counters, since flamed began to read them, about once a second. Count and sum " \
    "are exact. Where several safepoints lie between two readings, each counts as their mean."

static const struct family FAMILIES[] = {
    { "flamed_jvm_pause_seconds",
      "Time at safepoints, from the wish to stop until threads went on." FROM_COUNTERS,
      offsetof(struct pauses, whole) },
    { "flamed_jvm_time_to_safepoint_seconds",
      "Time until all threads had stopped for a safepoint." FROM_COUNTERS,
      offsetof(struct pauses, reach) },
};

/* Writes a line of @f for the JVM with @labels: a bucket up to @le, or the value that @suffix
 * names. */
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

static void write_histogram(const struct family *f, const struct pause_histogram *h,
                            const struct buf *labels, struct buf *out)
{
    uint64_t sum = 0;
    char le[32];

    for (size_t i = 0; i < PAUSES_BOUNDS; i++) {
        sum += h->counts[i];
        snprintf(le, sizeof(le), "%g", (double)PAUSES_BOUNDS_NS[i] / 1e9);
        line(f, "_bucket", labels, le, (double)sum, out);
    }
    sum += h->counts[PAUSES_BOUNDS];
    line(f, "_bucket", labels, "+Inf", (double)sum, out);
    line(f, "_sum", labels, NULL, (double)h->sum_ns / 1e9, out);
    line(f, "_count", labels, NULL, (double)sum, out);
}

struct writing {
    const struct counted *counted;
    const struct target *seen;
    const struct family *family;
    struct buf *out;
};

static int write_jvm(void *cookie, struct process *p)
{
    struct writing *w = cookie;
    const struct counted_jvm *j =
        p->jvm == JVM_NO || p->exited ? NULL : counted_of(w->counted, &p->id);
    _cleanup_buf_ struct buf labels = BUF_UPTO((size_t)64 << 10);

    if (!j || j->last.c.safepoints == COUNTERS_UNKNOWN || !j->last.at_ns ||
        !target_sees(w->seen, p))
        return 0;
    metric_jvm_labels(&labels, p);
    write_histogram(w->family,
                    (const struct pause_histogram *)(const void *)((const char *)&j->pauses +
                                                                   w->family->histogram),
                    &labels, w->out);
    return 0;
}

void moment_metrics(struct api *api, const struct viewer *v, struct buf *out)
{
    struct writing w = { .counted = &api->engine.captures->counted, .out = out };
    struct target_selector all = { .viewer = v };
    _cleanup_(target_freep) struct target *seen = NULL;

    if (target_new(&all, &seen, NULL) != 0)
        return;
    w.seen = seen;
    for (size_t i = 0; i < ARRAY_SIZE(FAMILIES); i++) {
        w.family = &FAMILIES[i];
        metric_head_histogram(out, FAMILIES[i].name, FAMILIES[i].help);
        discover_each(api->engine.discover, write_jvm, &w);
    }
    if (v->whole)
        metric(out, "flamed_jvm_pauses_missing",
               "JVMs without these histograms, because flamed reads 64 at once.",
               w.counted->left_out);
}
