/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the Java frames of a fake JVM, which has one piece of code. */
#pragma once

#include "symbolize/java.h"
#include "symbolize/java_methods.h"
#include "unwind/unwind.h"

#include "made_vm.h"
#include "suite.h"

static struct frame_table *frames;
static struct java_names *names;

static inline void setup(void)
{
    memset(&jvm, 0, sizeof(jvm));
    memset(threads, 0, sizeof(threads));
    jvm.code = (struct hotspot_code){ .kind = HOTSPOT_CODE_COMPILED,
                                      .start = 0x10000,
                                      .end = 0x20000,
                                      .blob = 0xff00,
                                      .method = 0x200,
                                      .compile_id = 7,
                                      .level = 4 };
    jvm.at[0] = (struct hotspot_location){ .method = 0x200, .bci = 5 };
    jvm.locations = 1;
    jvm.class_name = "app/Foo$$Lambda$3+0x0000000800c03000";
    jvm.const_method = 0x5000;
    ck_assert_int_eq(frame_table_new(1 << 20, 1 << 26, &frames), 0);
    ck_assert_int_eq(java_names_new(frames, &names), 0);
}

static inline void teardown(void)
{
    names = java_names_free(names);
    frames = frame_table_free(frames);
}

static inline uint32_t interpreted(struct hotspot_vm *vm, uint64_t method, uint64_t bcp,
                                   uint64_t now_ns)
{
    return java_names_interpreted(names, vm, method, bcp, now_ns, now_ns);
}

static inline uint64_t compiled(uint64_t pc, unsigned id)
{
    return pc | (uint64_t)(id & UNWIND_ID_MASK) << UNWIND_PC_BITS |
           (uint64_t)UNWIND_COMPILED << UNWIND_KIND_SHIFT;
}

static inline const struct frame *get(uint32_t id)
{
    return frame_table_get(frames, id);
}

static inline const char *text(uint32_t string)
{
    return frame_table_get_string(frames, string).p;
}
