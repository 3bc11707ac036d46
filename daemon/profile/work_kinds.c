/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/work_kinds.h"

bool work_has_waits(const struct view *v)
{
    for (size_t i = 0; i < v->row_count; i++) {
        if (v->rows[i].state == STATE_BLOCKED)
            return true;
    }
    return false;
}

static void add(struct view_sum *sum, uint64_t samples, uint64_t value)
{
    sum->samples += samples;
    sum->value += value;
}

static size_t waits_add_up(const struct view *v, struct work_kind ret[WORK_KINDS_MAX])
{
    enum { RUNNING = WAIT_COUNT, IDLE, KINDS };

    for (size_t i = 0; i < WAIT_COUNT; i++)
        ret[i] = (struct work_kind){ .name = WAIT_NAMES[i] };
    ret[RUNNING] = (struct work_kind){ .name = "running" };
    ret[IDLE] = (struct work_kind){ .name = "waits of idle threads" };
    for (size_t i = 0; i < v->row_count; i++) {
        const struct view_row *row = &v->rows[i];
        size_t at = row->state == STATE_RUNNABLE  ? (size_t)WAIT_RUNNABLE
                    : row->state != STATE_BLOCKED ? (size_t)RUNNING
                    : row->idle                   ? (size_t)IDLE
                                                  : MIN((size_t)row->wait, (size_t)WAIT_COUNT - 1);

        add(&ret[at].sum, row->samples, row->value);
    }
    return KINDS;
}

static size_t categories_add_up(const struct view *v, struct work_kind ret[WORK_KINDS_MAX])
{
    const struct profile *p = v->profile;

    if (!v->sample_rows)
        return 0;
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        ret[i] = (struct work_kind){ .name = CATEGORY_NAMES[i] };
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        unsigned category = PROFILE_SAMPLE_CATEGORY(s->flags);

        if (v->sample_rows[i] != VIEW_NO_ROW && category < CATEGORY_COUNT)
            add(&ret[category].sum, s->count, s->value);
    }
    return CATEGORY_COUNT;
}

size_t work_kinds(const struct view *v, struct work_kind ret[WORK_KINDS_MAX])
{
    return work_has_waits(v) ? waits_add_up(v, ret) : categories_add_up(v, ret);
}
