/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of code that one JVM made: addresses in its code cache and methods in its interpreter,
 * read through hotspot/ and then kept. The name of compiled code is kept by address and compile id.
 * The name of an address without a compile id is valid for JAVA_CODE_TRUST_NS only. Each call
 * passes the VM. After the VM's end it passes NULL, and gets earlier results. Thread: the engine's.
 */
#pragma once

#include "hotspot/hotspot.h"
#include "profile/frame.h"

#define JAVA_CODE_TRUST_NS (10 * NSEC_PER_MSEC)
#define JAVA_STUB_TRUST_NS NSEC_PER_SEC
#define JAVA_PCS_MAX (1u << 17) /* entries of one JVM; when full, all are read again */

#define JAVA_EXPAND_MAX (HOTSPOT_INLINE_MAX + 1) /* frames of one pc */

struct java_names;

/* Makes the names of one JVM. Borrows @frames. Returns 0 or -ENOMEM. */
int java_names_new(struct frame_table *frames, struct java_names **ret);
struct java_names *java_names_free(struct java_names *j);

/*
 * Appends the frames at the address in @word (unwind/unwind.h: UNWIND_NATIVE, _COMPILED or _STUB)
 * to @ret, innermost first, at most @room. Returns their number; 0: no live code is there, or no
 * longer.
 */
size_t java_names_code(struct java_names *j, struct hotspot_vm *vm, uint64_t word,
                       bool is_return_address, uint64_t now_ns, uint32_t *ret, size_t room);
/* Notes the number of classes that a sample's JVM had unloaded (java_methods_see_unloads()). */
void java_names_see_unloads(struct java_names *j, uint64_t unloads, uint64_t at_ns);
/* Reads in one step what java_names_code() and java_names_interpreted() need for @words, a stack
 * that was sampled at @at_ns. */
void java_names_prepare(struct java_names *j, struct hotspot_vm *vm, const uint64_t *words,
                        size_t count, uint64_t at_ns, uint64_t now_ns);
/* Returns the frame of an interpreted @method at bytecode address @bcp, at the time @at_ns of the
 * sample. Returns 0 (the unknown frame) if @method is no method. */
uint32_t java_names_interpreted(struct java_names *j, struct hotspot_vm *vm, uint64_t method,
                                uint64_t bcp, uint64_t at_ns, uint64_t now_ns);
/* Returns whether a frame of @function is known to be of a native method. */
bool java_names_is_native(const struct java_names *j, uint32_t function);
/* Returns the number of answers that lack a name, an inlined method or a line, because the JVM's
 * memory was not read in time. */
uint64_t java_names_incomplete(const struct java_names *j);
/* Returns the number of methods that were named. */
uint64_t java_names_methods(const struct java_names *j);
