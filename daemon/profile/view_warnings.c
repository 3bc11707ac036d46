/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of a view: those of its profile, left out samples, and too few samples. */
#include "profile/method_calls.h"
#include "profile/view_impl.h"

#include <math.h>

#define RECORDED_APART 6 /* highest number of periods of the flight recorder between two looks */

static void say_left_out(struct view *v)
{
    if (v->idle.samples)
        snprintf(v->left_out, sizeof(v->left_out),
                 "%llu samples (%.3f s) of threads that waited for work are left out by idle=0",
                 (unsigned long long)v->idle.samples, (double)v->idle.value / 1e9);
}

static void say_no_ids(struct view *v)
{
    if (v->without_ids)
        snprintf(v->no_ids, sizeof(v->no_ids),
                 "%llu samples with nothing but an operation are left out: the history keeps "
                 "neither traces nor spans",
                 (unsigned long long)v->without_ids);
}

/* Returns whether each sample of @e has its own duration, as a wait has. */
static bool has_times(const struct profile_event *e)
{
    return e->valued && strcmp(e->unit, "nanoseconds") == 0;
}

/* Returns whether samples of @e are taken by chance. With period 1 each event is a sample. */
static bool is_drawn(const struct profile_event *e)
{
    return e->period > 1 && !has_times(e);
}

double view_looks_of(const struct profile *p, const struct profile_sample *s)
{
    const struct profile_event *e = &p->events[s->event];
    uint64_t apart = e->period >= NSEC_PER_SEC ? RECORDED_APART * e->period : e->period;

    if (!has_times(e) || !apart || thread_kind_is_unmounted(p, s->thread))
        return s->count;
    return MAX((double)s->count, (double)s->value / (double)apart);
}

static void say_few(struct view *v)
{
    const struct profile_event *e = view_event(v);
    bool timed = strcmp(e->unit, "nanoseconds") == 0;

    if (v->samples == 0 || v->samples >= VIEW_FEW_SAMPLES || !is_drawn(e))
        return;
    snprintf(v->few, sizeof(v->few),
             "%llu sample%s few: by chance, a frame that has half of them may be off by %.0f "
             "points. Take more seconds or a %s%s",
             (unsigned long long)v->samples, v->samples == 1 ? " is" : "s are",
             100 / sqrt((double)MAX(v->samples, UINT64_C(4))),
             timed ? "higher hz" : "smaller interval",
             strcmp(e->name, "cpu") == 0 ? "; event=offcpu shows where an idle service waits" : "");
}

void view_warn(struct view *v)
{
    const char *const own[VIEW_WARNINGS] = { v->left_out, v->no_ids, v->few };

    say_left_out(v);
    say_no_ids(v);
    say_few(v);
    for (size_t i = 0; i < v->profile->warning_count; i++)
        v->warnings[v->warning_count++] = v->profile->warnings[i];
    for (size_t i = 0; v->calls && i < v->calls->warning_count; i++)
        v->warnings[v->warning_count++] = v->calls->warnings[i];
    for (size_t i = 0; i < VIEW_WARNINGS; i++) {
        if (own[i][0])
            v->warnings[v->warning_count++] = own[i];
    }
}
