/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of program.h for all loaded programs. */
#include "sample/program.h"

#include "sample/sampler_impl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static const struct sampler_program *const PROGRAMS[PROGRAM_COUNT] = {
#define PROGRAM(id, name) [PROGRAM_##id] = &sampler_program_##name,
#include "event/events.def"
};

const struct sampler_program *sampler_program(enum event_program program)
{
    return PROGRAMS[program];
}

bool sampler_has(const struct sampler *s, enum event_program program)
{
    return s->perf ? program == PROGRAM_CPU : s->loaded[program] != NULL;
}

void *sampler_loaded(const struct sampler *s, enum event_program program)
{
    return s ? s->loaded[program] : NULL;
}

int sampler_check_program(struct sampler *s, enum event_program program, struct error *err)
{
    int r = 0;

    if (s && s->perf)
        return program == PROGRAM_CPU ? 0 : perf_home_refuse(s->perf, err);
    if (PROGRAMS[program]->check && !(s && s->checked[program]))
        r = PROGRAMS[program]->check(err);
    if (s)
        s->checked[program] = r == 0;
    return r;
}

/* Passes the present filters of processes to @program. */
static void tell_filters(struct sampler *s, enum event_program program)
{
    int map = bpf_map__fd(s->skel->maps.filters), r;
    uint32_t key, next, sets;

    for (r = bpf_map_get_next_key(map, NULL, &next); r == 0;) {
        key = next;
        r = bpf_map_get_next_key(map, &key, &next);
        if (bpf_map_lookup_elem(map, &key, &sets) == 0)
            PROGRAMS[program]->filter_process(s->loaded[program], (int32_t)key, 0, sets);
    }
}

static void filter_all(struct sampler *s, size_t program, uint32_t sets)
{
    const struct sampler_program *of = PROGRAMS[program];
    void *p = s->loaded[program];

    if (p && of->filter_all)
        of->filter_all(p, sets);
    else if (p && of->memory)
        __atomic_store_n(of->memory(p).filter_all, sets, __ATOMIC_RELEASE);
}

void sampler_take(struct sampler *s, enum event_program program, void *loaded)
{
    s->loaded[program] = loaded;
    if (PROGRAMS[program]->filter_process)
        tell_filters(s, program);
    filter_all(s, program, s->skel->bss->filter_all);
}

void programs_free(struct sampler *s)
{
    for (size_t i = PROGRAM_COUNT; i-- > 0;) { /* the first one has the maps */
        if (s->loaded[i])
            PROGRAMS[i]->free(s->loaded[i]);
        s->loaded[i] = NULL;
    }
}

void programs_filter_process(struct sampler *s, int32_t pid, uint32_t before, uint32_t sets)
{
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        if (s->loaded[i] && PROGRAMS[i]->filter_process)
            PROGRAMS[i]->filter_process(s->loaded[i], pid, before, sets);
    }
}

void programs_filter_all(struct sampler *s, uint32_t sets)
{
    for (size_t i = 0; i < PROGRAM_COUNT; i++)
        filter_all(s, i, sets);
}

void programs_forget(struct sampler *s)
{
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        if (s->loaded[i] && PROGRAMS[i]->memory)
            sampler_forget(PROGRAMS[i]->memory(s->loaded[i]).known);
    }
}

void sampler_stats(const struct sampler *s, struct sample_stats *ret)
{
    *ret = (struct sample_stats){ 0 };
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        int counters;

        if (!s->loaded[i] || !PROGRAMS[i]->memory)
            continue;
        counters = PROGRAMS[i]->memory(s->loaded[i]).counters;
        ret->samples += sampler_counted(counters, STACK_SAMPLES);
        ret->lost_ring += sampler_counted(counters, STACK_LOST_RING);
        ret->lost_budget += sampler_counted(counters, STACK_LOST_BUDGET);
        ret->lost_other += sampler_counted(counters, STACK_LOST_OTHER);
        ret->hidden += sampler_counted(counters, STACK_HIDDEN);
        ret->time_ns += sampler_counted(counters, STACK_TIME_NS);
        ret->runs += sampler_counted(counters, STACK_RUNS);
    }
}
