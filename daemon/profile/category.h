/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the CPU time of a JVM, from one sample. Pure. */
#pragma once

#include "profile/frame.h"

enum category {
    CATEGORY_JAVA, /* compiled Java, and the stubs it calls */
    CATEGORY_INTERPRETER,
    CATEGORY_JIT,    /* compiler threads, in any code */
    CATEGORY_GC,     /* the collector's threads, and collections that the VM thread runs */
    CATEGORY_VM,     /* other work of libjvm */
    CATEGORY_NATIVE, /* other user code: JNI libraries, libc, programs other than JVMs */
    CATEGORY_KERNEL, /* kernel mode, except in the JIT and GC work above */
    CATEGORY_COUNT
};

extern const char *const CATEGORY_NAMES[CATEGORY_COUNT];

/* Returns the category of a sample. @thread: Java name or comm; @stack: ids of @table, leaf first;
 * @in_kernel: the interrupt hit kernel mode. A stack without Java code is classified by the
 * thread's name, as HotSpot gives it in JDK 8 to 25. If no name matches (JDK 8 leaves native
 * threads nameless), the functions on the stack decide. */
enum category category_of(const struct frame_table *table, struct span thread,
                          const uint32_t *stack, size_t n, bool in_kernel, bool is_jvm);
