/* SPDX-License-Identifier: Apache-2.0 */
#include "signal_faults.h"

#define TICK_NS UINT64_C(10000000)

void healthy(struct making *m)
{
    double *v = m->r.v;

    v[NUMBER_CPU_NS] += 5e9;
    v[NUMBER_THREADS] = 40 + (double)((int)m->s / STEP_S % 3);
    v[NUMBER_RSS_BYTES] = 300 * MIB;
    v[NUMBER_KEPT_BYTES] = (double)NAN;
    v[NUMBER_SWAP_BYTES] = 0;
    v[NUMBER_SWAP_LIMIT_BYTES] = v[NUMBER_SWAP_USED_BYTES] = (double)NAN;
    v[NUMBER_DESCRIPTORS] = 120 + (double)((int)m->s / STEP_S % 5);
    v[NUMBER_DESCRIPTORS_MAX] = 1024;
    v[NUMBER_CPU_LIMIT] = 1;
    v[NUMBER_PERIODS] += 100;
    v[NUMBER_PERIODS_THROTTLED] += 3;
    v[NUMBER_MEMORY_LIMIT_BYTES] = 512 * MIB;
    v[NUMBER_NODE_CPU_PRESSURE_NS] += 0.3e9;
    v[NUMBER_NODE_CPUS] = 4;
    v[NUMBER_NODE_STEAL_NS] += 0.01e9;
    v[NUMBER_NODE_MEMORY_BYTES] = 8 * GIB;
    v[NUMBER_NODE_AVAILABLE_BYTES] = 4 * GIB;
    v[NUMBER_NODE_SWAP_FREE_BYTES] = GIB;
    v[NUMBER_COLLECTIONS] += 2;
    v[NUMBER_COLLECTION_NS] += 16e6;
    v[NUMBER_SAFEPOINTS] += 12;
    v[NUMBER_SAFEPOINT_SYNC_NS] += 1e6;
    /* Garbage grows old and is collected every 3 minutes. */
    v[NUMBER_HEAP_BYTES] = (60 + (double)((int)m->s % 180) / 6) * MIB;
    v[NUMBER_OLD_COLLECTIONS] += (int)m->s % 180 == 0;
    v[NUMBER_OLD_LEFT] = (int)m->s % 180 == 0 ? 0.35 : (double)NAN; /* young ones come after it */
    v[NUMBER_OLD_BYTES] = v[NUMBER_OLD_MAX_BYTES] = (double)NAN;
    v[NUMBER_HEAP_COMMITTED_BYTES] = 256 * MIB;
    v[NUMBER_HEAP_MAX_BYTES] = 256 * MIB;
    v[NUMBER_ALLOCATED_PER_SECOND] = 20 * MIB;
    v[NUMBER_METASPACE_BYTES] = 40 * MIB;
    v[NUMBER_METASPACE_COMMITTED_BYTES] = 41 * MIB;
    v[NUMBER_CODE_CACHE_BYTES] = 30 * MIB;
    v[NUMBER_CODE_CACHE_MAX_BYTES] = 240 * MIB;
    v[NUMBER_OUTSIDE_BYTES] = v[NUMBER_RSS_BYTES] - 327 * MIB;
    v[NUMBER_OOM_KILLS] += 0;
    v[NUMBER_MAJOR_FAULTS] += 1;
    v[NUMBER_MEMORY_PRESSURE_NS] += 0;
    v[NUMBER_COMPILED] += 1;
    v[NUMBER_COMPILE_NS] += 5e6;
    v[NUMBER_CLASSES_LOADED] += 0;
    v[NUMBER_BUSY_THREADS] = 2 + (double)((int)m->s / STEP_S % 4);
    v[NUMBER_LOCK_WAITERS] = (double)((int)m->s / STEP_S % 2);
    v[NUMBER_POOL_HELD] = 2;
    v[NUMBER_POOL_WAITING] = 0.25;
    v[NUMBER_CARRIERS_PINNED] = (int)m->s / STEP_S % 7 == 0;
    v[NUMBER_VIRTUAL_QUEUED] = (double)((int)m->s / STEP_S % 6); /* as many have a permit */
    v[NUMBER_VIRTUAL_BUSY] = v[NUMBER_VIRTUAL_QUEUED] + 10;
    v[NUMBER_VIRTUAL_RUNNABLE] = (double)((int)m->s / STEP_S % 4);
    v[NUMBER_VIRTUAL_MOUNTED] = 1.5;
}

void queues(struct making *m)
{
    m->r.v[NUMBER_NODE_CPU_PRESSURE_NS] += 8e9;
    m->r.v[NUMBER_RAN_NS] += 5e9;
    m->r.v[NUMBER_RUNNABLE_NS] += 7e9;
}

void finish(struct watched *w)
{
    numbers_deinit(&w->numbers);
    for (size_t i = 0; i < RULES; i++)
        free(w->past[i]);
}

void judge(struct making *m, struct watched *w)
{
    w->p->id.start_ticks = (clock_ns(CLOCK_BOOTTIME) - (uint64_t)m->s * NSEC_PER_SEC) / TICK_NS;
    w->p->start_realtime_ns = UINT64_MAX; /* the clock was set back since */
    ck_assert(numbers_add(&w->numbers, (uint64_t)(m->s + 1) * NSEC_PER_SEC, &m->r));
    watched_judge(w, (uint64_t)(m->s + 1) * NSEC_PER_SEC);
    m->s += STEP_S;
}

void go_on(struct watched *w, struct making *m, void (*make_sick)(struct making *m))
{
    m->sick = make_sick && m->s >= BEGIN_S && m->s < END_S;
    m->sick_s = m->s - BEGIN_S + STEP_S;
    healthy(m);
    if (m->sick)
        make_sick(m);
    judge(m, w);
}

void check_only(const struct watched *w, const char *expected, double s)
{
    for (size_t i = 0; i < RULES; i++) {
        const struct signal_state *state = &w->states[i];
        const char *name = rule_of((enum rule_id)i)->name;

        if (!state->on ||
            (expected && (strcmp(name, expected) == 0 || state->finding.severity < 2)))
            continue;
        ck_abort_msg("%s beside %s at %.0f s: %s", name, expected ? expected : "nothing", s,
                     state->finding.sentence);
    }
}

const struct signal_state *state_of(const struct watched *w, const char *name)
{
    for (size_t i = 0; i < RULES; i++) {
        if (strcmp(rule_of((enum rule_id)i)->name, name) == 0)
            return &w->states[i];
    }
    ck_abort_msg("no rule is called %s", name);
}

void begin(struct making *m, struct watched *w, struct process *p)
{
    *m = (struct making){ .s = 0 };
    *w = (struct watched){
        .p = p,
        .lock = { .waiters = 5,
                  .name = "Prices",
                  .owner = "price-1",
                  .code = "Prices.load",
                  .wait = "file" },
        .pool = { .threads = 8,
                  .waiting = 8,
                  .name = "exec-*",
                  .code = "Rates.fetch",
                  .wait = "network" },
        .carriers = { .carriers = 4,
                      .pinned = 3,
                      .code = "Orders.save",
                      .place = "Native.call",
                      .wait = "park" },
        .virtual = { .waiting = 40,
                     .busy = 50,
                     .having = 8,
                     .pooled = true,
                     .code = "Orders.save",
                     .having_code = "Rates.fetch",
                     .having_wait = "network" },
    };
    for (size_t i = 0; i < NUMBERS; i++)
        m->r.v[i] = 0;
}
