/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `summary`: what was measured, its quality, and in a few lines what the time was spent on:
 * kinds of work, processes and threads.
 */
#include "base/cleanup.h"
#include "profile/work_kinds.h"
#include "render/report.h"

#define SUMMARY_ROWS 20 /* rows of processes, and of threads */

/* A process or thread, by its index in the profile. */
struct summary_row {
    struct view_sum sum;
    uint32_t index;
};

struct summary {
    const struct view *v;
    struct view_sum kinds[THREAD_KINDS];
    uint64_t ends[PROFILE_ENDS];
    struct summary_row *threads, *processes;
};

static void add_sample(struct view_sum *sum, const struct profile_sample *sample)
{
    sum->samples += sample->count;
    sum->value += sample->value;
}

static void summary_count(struct summary *s, const struct profile_sample *sample,
                          const struct view_row *row)
{
    const struct profile *p = s->v->profile;

    add_sample(&s->kinds[row->kind], sample);
    if (sample->flags & PROFILE_SAMPLE_CUT)
        s->ends[PROFILE_SAMPLE_END(sample->flags)] += sample->count;
    if (sample->thread >= p->thread_count)
        return;
    add_sample(&s->threads[sample->thread].sum, sample);
    if (p->threads[sample->thread].process < p->process_count)
        add_sample(&s->processes[p->threads[sample->thread].process].sum, sample);
}

static int summary_init(struct summary *s)
{
    const struct view *v = s->v;
    const struct profile *p = v->profile;

    s->threads = calloc(p->thread_count + 1, sizeof(*s->threads));
    s->processes = calloc(p->process_count + 1, sizeof(*s->processes));
    if (!s->threads || !s->processes)
        return -ENOMEM;
    for (size_t i = 0; i < p->thread_count; i++)
        s->threads[i].index = (uint32_t)i;
    for (size_t i = 0; i < p->process_count; i++)
        s->processes[i].index = (uint32_t)i;
    for (size_t i = 0; v->sample_rows && i < p->sample_count; i++)
        if (v->sample_rows[i] != VIEW_NO_ROW)
            summary_count(s, &p->samples[i], &v->rows[v->sample_rows[i]]);
    return 0;
}

static void summary_deinit(struct summary *s)
{
    free(s->threads);
    free(s->processes);
}

ORDER_FUNCTION(summary_row_cmp, struct summary_row,
               COMPARE(y->sum.samples, x->sum.samples) ?: COMPARE(x->index, y->index))

static void add_name(const struct summary *s, bool threads, uint32_t index, struct buf *out)
{
    const struct profile *p = s->v->profile;
    int32_t number;

    buf_add_span(
        out, intern_get(p->strings, threads ? p->threads[index].name : p->processes[index].name));
    number = threads ? p->threads[index].host_tid : p->processes[index].host_pid;
    if (number > 0)
        buf_printf(out, threads ? " tid=%d" : " pid=%d", number);
    buf_add_str(out, "\n");
}

/* Adds the busiest processes or threads, in order. */
static void add_rows(const struct summary *s, struct summary_row *rows, size_t n, bool threads,
                     struct buf *out)
{
    const struct view *v = s->v;
    size_t used = 0;
    struct view_sum rest = { 0 };

    qsort(rows, n, sizeof(*rows), summary_row_cmp);
    while (used < n && rows[used].sum.samples)
        used++;
    if (!used)
        return;
    buf_add_char(out, '\n');
    report_add_table_head(v, threads ? "threads" : "processes", out);
    for (size_t i = 0; i < used && i < SUMMARY_ROWS; i++) {
        report_add_columns(v, rows[i].sum, out);
        add_name(s, threads, rows[i].index, out);
    }
    for (size_t i = SUMMARY_ROWS; i < used; i++)
        rest =
            (struct view_sum){ rest.samples + rows[i].sum.samples, rest.value + rows[i].sum.value };
    report_add_rest(v, used > SUMMARY_ROWS ? used - SUMMARY_ROWS : 0, rest,
                    threads ? "threads" : "processes", out);
}

/* Adds the categories of work, or the kinds of waits. */
static void add_work(const struct view *v, struct buf *out)
{
    struct work_kind list[WORK_KINDS_MAX];
    size_t n = work_kinds(v, list);

    buf_add_char(out, '\n');
    report_add_table_head(v, work_has_waits(v) ? "work and waits" : "work", out);
    for (size_t i = 0; i < n; i++) {
        if (!list[i].sum.samples)
            continue;
        report_add_columns(v, list[i].sum, out);
        buf_printf(out, "%s\n", list[i].name);
    }
}

/* Adds the kinds of threads of a profile that has virtual ones. */
static void add_kinds(const struct summary *s, struct buf *out)
{
    if (s->kinds[THREAD_PLATFORM].samples == s->v->samples)
        return;
    buf_add_char(out, '\n');
    report_add_table_head(s->v, "kinds of threads", out);
    for (unsigned i = 0; i < THREAD_KINDS; i++) {
        if (!s->kinds[i].samples)
            continue;
        report_add_columns(s->v, s->kinds[i], out);
        buf_printf(out, "%s\n", THREAD_KIND_NAMES[i]);
    }
}

int render_summary(const struct view *v, const struct render_opts *o, struct buf *out,
                   struct error *err)
{
    _cleanup_(summary_deinit) struct summary s = { .v = v };

    if (summary_init(&s) < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    if (o && o->words && o->words->count) {
        words_text(o->words, out);
        buf_add_char(out, '\n');
    }
    report_add_head(v, o, out);
    for (unsigned i = 0; i < PROFILE_ENDS; i++) {
        if (!s.ends[i])
            continue;
        report_add_label(out, profile_end_name(i));
        buf_printf(out, "%llu (%.2f%%): %s\n", (unsigned long long)s.ends[i],
                   report_percent(s.ends[i], v->samples), profile_end_words(i));
    }
    if (v->samples)
        add_work(v, out);
    add_kinds(&s, out);
    add_rows(&s, s.processes, v->profile->process_count, /* threads= */ false, out);
    add_rows(&s, s.threads, v->profile->thread_count, /* threads= */ true, out);
    return render_result(out, err);
}
