/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/category.h"

#include "base/list.h"
#include "profile/profile.h"

const char *const CATEGORY_NAMES[CATEGORY_COUNT] = { "java", "interpreter", "jit",   "gc",
                                                     "vm",   "native",      "kernel" };

/* Prefixes of thread names, at most 15 bytes: of other threads than Java's only the comm is known,
 * which is cut to that length. */
static const struct {
    const char *prefix;
    enum category category;
} THREADS[] = {
    { "C1 CompilerThre", CATEGORY_JIT },
    { "C2 CompilerThre", CATEGORY_JIT },
    { "JVMCI CompilerT", CATEGORY_JIT },
    { "JVMCI-native Co", CATEGORY_JIT },
    { "GC Thread#", CATEGORY_GC },
    { "GC task thread#", CATEGORY_GC },
    { "ParGC Thread#", CATEGORY_GC },
    { "G1 ", CATEGORY_GC }, /* Main Marker, Conc#, Refine#, Service, Young RemSet Sampling */
    { "ZWorker#", CATEGORY_GC },
    { "ZDriver", CATEGORY_GC },
    { "ZDirector", CATEGORY_GC },
    { "ZStat", CATEGORY_GC },
    { "ZUncommitter", CATEGORY_GC },
    { "ZUnmapper", CATEGORY_GC },
    { "XWorker#", CATEGORY_GC },
    { "XDriver", CATEGORY_GC },
    { "Shenandoah", CATEGORY_GC },
};

/* Functions near the root of threads with meaningless names. */
static const struct {
    const char *prefix;
    enum category category;
} ROOTS[] = {
    { "CompileBroker::compiler_thread_loop", CATEGORY_JIT },
    { "GCTaskThread::run", CATEGORY_GC },
    { "GangWorker::", CATEGORY_GC },
    { "WorkerThread::run", CATEGORY_GC },
    { "ConcurrentGCThread::run", CATEGORY_GC },
    { "ConcurrentMarkSweepThread::run", CATEGORY_GC },
};

/* Returns whether the stack has Java code. Of the VM's own threads, only a compiler written in Java
 * runs Java code. Any other thread with Java code is an application thread, and may have any
 * name. */
static bool runs_java(const struct frame_table *t, const uint32_t *stack, size_t n)
{
    return ANY_OF(k, n,
                  stack[k] >= RECORD_LATER ||
                      frame_kind_is_java((enum frame_kind)frame_table_get(t, stack[k])->kind));
}

static bool name_of_function_begins(const struct frame_table *t, uint32_t frame, const char *prefix)
{
    const struct function *f = frame_table_get_function(t, frame_table_get(t, frame)->function);

    return span_starts_with(frame_table_get_string(t, f->name), prefix);
}

/* Returns the category if all work of the thread has the same one, else CATEGORY_COUNT. */
static enum category category_of_thread(const struct frame_table *t, struct span thread,
                                        const uint32_t *stack, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(THREADS); i++) {
        if (span_starts_with(thread, THREADS[i].prefix))
            return span_starts_with(thread, "JVMCI") || !runs_java(t, stack, n)
                       ? THREADS[i].category
                       : CATEGORY_COUNT;
    }
    for (size_t k = 0; k < n; k++) {
        if (frame_table_get(t, stack[n - 1 - k])->kind != FRAME_JVM)
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(ROOTS); i++) {
            if (name_of_function_begins(t, stack[n - 1 - k], ROOTS[i].prefix))
                return ROOTS[i].category;
        }
    }
    return CATEGORY_COUNT;
}

/* Returns whether a VM operation on the stack collects garbage: VM_G1CollectForAllocation,
 * VM_ParallelGCFailedAllocation, ... */
static bool is_collection(const struct frame_table *t, const uint32_t *stack, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct function *f =
            frame_table_get_function(t, frame_table_get(t, stack[k])->function);
        struct span name = frame_table_get_string(t, f->name);

        if (frame_table_get(t, stack[k])->kind == FRAME_JVM && span_starts_with(name, "VM_") &&
            (memmem(name.p, name.n, "Collect", 7) || memmem(name.p, name.n, "GC", 2)))
            return true;
    }
    return false;
}

static enum category category_of_code(const struct frame_table *t, uint32_t leaf)
{
    const struct frame *f = frame_table_get(t, leaf);

    switch ((enum frame_kind)f->kind) {
    case FRAME_C1:
    case FRAME_C2:
    case FRAME_JVMCI:
    case FRAME_INLINED:
        return CATEGORY_JAVA;
    case FRAME_INTERPRETED:
        return CATEGORY_INTERPRETER;
    case FRAME_STUB:
        return name_of_function_begins(t, leaf, "Interpreter") ? CATEGORY_INTERPRETER
                                                               : CATEGORY_JAVA;
    case FRAME_JVM:
        return CATEGORY_VM;
    default:
        return CATEGORY_NATIVE;
    }
}

enum category category_of(const struct frame_table *table, struct span thread,
                          const uint32_t *stack, size_t n, bool in_kernel, bool is_jvm)
{
    if (is_jvm) {
        enum category c = category_of_thread(table, thread, stack, n);

        if (c != CATEGORY_COUNT)
            return c;
        if (span_starts_with(thread, "VM Thread") && is_collection(table, stack, n))
            return CATEGORY_GC;
    }
    if (in_kernel)
        return CATEGORY_KERNEL;
    if (n > 1 && stack[0] < RECORD_LATER && frame_table_get(table, stack[0])->kind == FRAME_CLASS) {
        stack++; /* the top entry is the class; the code that allocated is below */
        n--;
    }
    if (n && is_jvm && stack[0] >= RECORD_LATER) /* generated code; its name is resolved later */
        return CATEGORY_JAVA;
    return n && is_jvm ? category_of_code(table, stack[0]) : CATEGORY_NATIVE;
}
