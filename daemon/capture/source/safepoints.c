/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event safepoint: the moments of JVMs, and a sample for each safepoint without a sample of a late
 * thread. Also the methods that were compiled, and the classes that were loaded.
 */
#include "base/text.h"
#include "capture/capture_impl.h"
#include "profile/category.h"
#include "symbolize/java_text.h"

struct safepoints {
    uint32_t named_moments;   /* compilations and classes in the profile */
    uint64_t unnamed_moments; /* moments beyond CAPTURE_NAMED_MOMENTS_MAX, which have no names */
};

static const struct source_texts TEXTS = { .first = "its first safepoints are",
                                           .what = "safepoints of",
                                           .cannot = " cannot be seen",
                                           .is = " are" };

static int safepoints_prepare(struct capture_event *e, struct process *p, struct error *err)
{
    return source_prepare_jvm(e, &e->capture->captures->moments.table, p, &TEXTS, err);
}

static void safepoints_hold(const struct capture_event *e, const struct proc_id *p)
{
    if (p)
        probe_table_want(&e->capture->captures->moments.table, p, PROBE_NO_SET);
}

/* ---- moments ---- */

/* Appends @text of @n bytes, cut to @max with "..." behind it. */
static void add_text(struct buf *out, const char *text, uint32_t n, size_t max, bool is_class)
{
    struct span s = { text, MIN((size_t)n, max) };

    if (is_class)
        java_class_text(s, out);
    else
        buf_add_span(out, s);
    if (n > max)
        buf_add_str(out, "...");
}

/* Returns "java.util.HashMap", or with a method "java.util.HashMap.get", as a string of frames. */
static uint32_t names_text(struct captures *captures, const struct moment_names *names)
{
    _cleanup_buf_ struct buf raw = BUF_UPTO(TEXT_NAME_MAX);

    add_text(&raw, names->class_name, names->class_n, sizeof(names->class_name),
             /* is_class= */ true);
    if (names->method_n) {
        buf_add_char(&raw, '.');
        add_text(&raw, names->method, names->method_n, sizeof(names->method),
                 /* is_class= */ false);
    }
    return frame_table_clean(captures->frames, buf_span(&raw), TEXT_MODIFIED_UTF8);
}

/* Records a sample of the VM's own thread for safepoint @m. It counts if no thread was sampled as
 * late for that safepoint. */
static void record_rest(const struct capture_event *e, uint32_t process, struct process *p,
                        const struct moment *m)
{
    struct capture *c = e->capture;
    struct captures *captures = c->captures;
    struct sample_record rec = { .time_ns = m->start_ns + m->reach_ns,
                                 .host_tid = (uint32_t)m->host_tid,
                                 .weight = 1 };
    struct incoming in = {
        .rec = &rec,
        .process = p,
        .thread_name = symbolizer_thread_name(captures->symbolizer, p, m->host_tid, "VM Thread"),
    };
    struct profile_sample sample = { .time_ns = rec.time_ns,
                                     .value = MAX(m->reach_ns, UINT64_C(1)),
                                     .count = 1,
                                     .event = (uint8_t)(e - c->events),
                                     .flags = PROFILE_SAMPLE_REST |
                                              CATEGORY_VM << PROFILE_SAMPLE_CATEGORY_SHIFT };
    struct span name = m->reach_ns < 2 * e->sets[0].period ? SPAN("[too short to see]")
                                                           : SPAN("[late thread not running]");
    /* The frame of a safepoint without a sample of a late thread. */
    uint32_t frame = frame_table_text(captures->frames, name, FRAME_WAIT_BLOCKED);
    struct seen_run *run;
    uint32_t thread;

    if (capture_thread(c, process, &in, &thread, &run) < 0) {
        record_drop(c->record, 1);
        return;
    }
    sample.thread = thread;
    record_sample(c->record, &sample, &frame, 1);
}

static void record_one(struct capture_event *e, struct process *p, const struct moment *m)
{
    struct capture *c = e->capture;
    struct captures *captures = c->captures;
    struct safepoints *s = e->state;
    struct seen_verdict *v = capture_verdict(captures, c, p, m->end_ns);
    struct profile_moment kept = {
        .start_ns = m->start_ns, .end_ns = m->end_ns, .reach_ns = m->reach_ns, .kind = m->kind
    };

    if (!v || !v->wanted)
        return;
    kept.process = v->process;
    if (m->names) {
        if (s->named_moments == CAPTURE_NAMED_MOMENTS_MAX) {
            s->unnamed_moments++;
            return;
        }
        s->named_moments++;
        kept.by = symbolizer_thread_name(captures->symbolizer, p, m->host_tid, "");
        kept.compiler = capture_moment_name(captures, m->name);
        kept.name = names_text(captures, m->names);
    } else {
        kept.name = capture_moment_name(captures, m->name);
    }
    if (record_moment(c->record, &kept) == 0 && m->kind == MOMENT_IS_SAFEPOINT)
        record_rest(e, v->process, p, m);
}

static void take_moment(void *cookie, struct process *p, const struct moment *m)
{
    struct captures *captures = cookie;

    for (struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count; i++) {
            if (c->events[i].source == &event_source_safepoints && m->end_ns >= c->start_ns &&
                m->end_ns < c->end_ns)
                record_one(&c->events[i], p, m);
        }
    }
}

static void safepoints_drain(struct captures *captures)
{
    moments_drain(&captures->moments, captures->discover, take_moment, captures);
}

/* ---- warnings ---- */

/* Warns if moments of @p, which @c wants, came so often that @c lacks some. */
static void warn_often(struct capture *c, const struct process *p)
{
    uint32_t often = moments_often(&c->captures->moments, &p->id);
    const char *name = process_title(p);

    if (often & 1U << MOMENT_GROUP_COMPILED)
        record_warn_process(c->record,
                            "%d (%s) compiled more than %d methods in a second, so the probes for "
                            "that were taken out: this profile has not all of its jit; "
                            "compilations counts them",
                            p->id.host_pid, name, MOMENT_OFTEN);
    if (often & 1U << MOMENT_GROUP_CLASSES)
        record_warn_process(c->record,
                            "%d (%s) loaded or unloaded more than %d classes in a second, so the "
                            "probes for that were taken out: this profile has not all of its "
                            "class_load; classes_loaded counts them",
                            p->id.host_pid, name, MOMENT_OFTEN);
}

static void safepoints_want(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    (void)now_ns;
    if (source_want_jvm(e, &e->capture->captures->moments.table, p, &TEXTS))
        warn_often(e->capture, p);
}

static void safepoints_warn(const struct capture_event *e)
{
    struct capture *c = e->capture;
    struct captures *captures = c->captures;
    const struct safepoints *s = e->state;

    capture_warn_dropped(c, e->sets[0].period);
    for (const struct probe_entry *one = captures->moments.table.first; one; one = one->next) {
        const struct process *p = discover_find(captures->discover, one->id.host_pid);

        if (p && proc_id_equal(&p->id, &one->id) && target_matches(c->target, p))
            warn_often(c, p);
    }
    if (s->unnamed_moments)
        record_warn(c->record,
                    "%llu compilations and classes are not in this profile: it holds %u of them; "
                    "lower seconds",
                    (unsigned long long)s->unnamed_moments, CAPTURE_NAMED_MOMENTS_MAX);
}

const struct event_source event_source_safepoints = {
    .state_bytes = sizeof(struct safepoints),
    .reads_threads = true,
    .has_moments = true,
    .prepare = safepoints_prepare,
    .hold = safepoints_hold,
    .want = safepoints_want,
    .drain = safepoints_drain,
    .warn = safepoints_warn,
    .empty = { "no JVM of the target had a safepoint", EMPTY_LONGER },
    .weigh_profile = profile_weigh_safepoints
};
