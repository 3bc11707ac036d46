/* SPDX-License-Identifier: Apache-2.0 */
/* What a JVM spends its CPU time on, told from one sample. Pure. */
#pragma once

#include "profile/frame.h"

enum category {
    CATEGORY_JAVA, /* compiled Java, and the stubs it calls */
    CATEGORY_INTERPRETER,
    CATEGORY_JIT,    /* the compiler threads, whatever they do */
    CATEGORY_GC,     /* the collector's threads, and collections that the VM thread runs */
    CATEGORY_VM,     /* other work of libjvm */
    CATEGORY_NATIVE, /* other user code: JNI libraries, libc, programs that are no JVM */
    CATEGORY_KERNEL, /* in kernel mode, on behalf of none of the above threads */
    CATEGORY_COUNT
};

extern const char *const CATEGORY_NAMES[CATEGORY_COUNT];

/* @thread: Java name or comm; @stack: ids of @table, leaf first; @in_kernel: the interrupt hit
 * kernel mode. If the stack has no Java code, the thread's name counts as HotSpot gives it in JDK 8
 * to 25. If it has none of them (JDK 8 leaves native threads nameless), the stack counts. */
enum category category_of(const struct frame_table *table, struct span thread,
                          const uint32_t *stack, size_t n, bool in_kernel, bool is_jvm);
