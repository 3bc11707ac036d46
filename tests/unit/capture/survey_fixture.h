/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM with made-up places of threads, for surveys. */
#pragma once

#include "suite.h"

#include "base/array.h"
#include "capture/looks_survey.h"

#include <math.h>

#define JVM 5
#define STACK_MAX 8

static struct frame_table *table;
static struct looks *looks;

static inline void begin(void)
{
    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &table), 0);
    ck_assert_int_eq(looks_new(&(struct looks_opts){ .frames = table }, &looks), 0);
}

static inline void end(void)
{
    looks_free(looks);
    frame_table_free(table);
}

static inline uint32_t text(const char *s)
{
    uint32_t id = 0;

    if (s)
        ck_assert_int_eq(frame_table_string(table, span_of(s), &id), 0);
    return id;
}

static inline uint32_t frame(const char *class_name, const char *name, enum frame_kind kind)
{
    struct function f = { .class_name = text(class_name), .name = text(name) };
    struct frame one = { .kind = (uint8_t)kind };
    uint32_t id;

    ck_assert_int_eq(frame_table_function(table, &f, &one.function), 0);
    ck_assert_int_eq(frame_table_frame(table, &one, &id), 0);
    return id;
}

static inline uint32_t hold(const uint32_t *frames, size_t n)
{
    uint32_t place;

    ck_assert_int_eq(record_hold(looks->stacks, frames, n, &place), 0);
    return place;
}

/* Adds a running thread of @host_pid. */
static inline struct looked_thread *add(uint32_t host_pid, const char *name)
{
    struct looked_threads *l = &looks->threads;
    struct looked_thread *t;

    ck_assert(array_grow(&l->threads, &l->cap, l->count + 1, SURVEY_THREADS_MAX * 2));
    t = &l->threads[l->count];
    *t = (struct looked_thread){ .host_tid = 100 + (uint32_t)l->count++,
                                 .host_pid = host_pid,
                                 .runs = true,
                                 .name = text(name) };
    t->process.host_pid = (int32_t)host_pid;
    return t;
}

/* Makes @t wait in @method, called from @call of the JDK's class @of, within a task or between
 * tasks. */
static inline void park(struct looked_thread *t, const char *of, const char *call,
                        const char *owner, const char *method, bool task)
{
    uint32_t frames[STACK_MAX] = {
        frame("jdk.internal.misc.Unsafe", "park", FRAME_C2),
        frame(of, call, FRAME_C2),
        frame(owner, method, FRAME_C2),
        frame("shop.Task", "run", FRAME_C2),
        task ? frame("java.util.concurrent.ThreadPoolExecutor", "runWorker", FRAME_INTERPRETED)
             : frame("java.lang.Thread", "run", FRAME_INTERPRETED),
    };

    t->stack = hold(frames, 5);
    t->placed = true;
    t->runs = false;
}

/* Makes @t wait in @method, with the kernel function @leaf, within a task or between tasks. */
static inline void place(struct looked_thread *t, const char *leaf, const char *method, bool task)
{
    uint32_t frames[STACK_MAX] = {
        frame(NULL, leaf, FRAME_KERNEL),
        frame("java.net.Socket", "read", FRAME_C2),
        frame("shop.Rates", method, FRAME_C2),
        task ? frame("java.util.concurrent.ThreadPoolExecutor", "runWorker", FRAME_INTERPRETED)
             : frame("java.lang.Thread", "run", FRAME_INTERPRETED),
    };

    t->stack = hold(frames, 4);
    t->placed = true;
    t->runs = false;
}

/* Makes @t wait for a lock of @class_name that thread @owner holds; NULL: not known. */
static inline void lock(struct looked_thread *t, const char *class_name, const char *owner)
{
    uint32_t frames[STACK_MAX];
    size_t n = 0;

    place(t, "futex_wait", "load", true);
    if (owner)
        frames[n++] = frame(NULL, owner, FRAME_THREAD);
    frames[n++] = frame(NULL, class_name, FRAME_WAIT_LOCK);
    frames[n++] = frame("shop.Rates", "load", FRAME_C2);
    t->lock_stack = hold(frames, n);
}
