/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one list of what an architecture must give. A file that names registers, instructions or
 * the machine of ELF files stands in it, or lint_arch fails. x86-64 has all; what aarch64 has
 * not is refused there, or left unknown.
 *
 *   what                                            where, for x86-64
 *   calls, prologues, epilogues, signal frames      unwind/arch/x86_64.h
 *   entries of methods, stubs, adapters             unwind/arch/x86_64_rules.h
 *   which of them is included                       unwind/arch/arch_rules.h
 *   slots of frames, for other layers too           unwind/frames.h
 *   coloured references of ZGC in walks             unwind/oop.h
 *   registers that a walk begins with               unwind/state.h
 *   the machine of ELF files, sections for tables   unwind_tables/ehframe_elf.c
 *   rules of call frames by DWARF's registers       unwind_tables/ehframe_cfa.c
 *   which registers those are                       unwind_tables/ehframe_cfa.h
 *   registers as the kernel has them                sample/registers.bpf.h
 *   registers that a perf event copies              sample/perf_abi.h
 *   registers at a probe                            sample/moment_abi.h
 *   by what the kernel gives threads memory         sample/task_memory.c
 *
 * The same for aarch64:
 *   all of the first three rows                     unwind/arch/aarch64.h
 *
 * What aarch64 has not yet:
 *   where functions begin and return                broker/function_start.c
 *   operands of USDT notes                          broker/usdt.c
 *   what a native image's code does to its stack    elf/image_code.c
 *   the outermost functions of musl                 elf/musl_start.c
 *   instructions of compiled methods                hotspot/leaf/x86_64.c
 *   what they do, for leaves in loops               hotspot/leaf/x86_64_features.c
 *   adapters between the interpreter and the rest   hotspot/code/adapters.c
 *   calls of stubs that allocate                    hotspot/code/allocation.c
 *
 * For both:
 *   how a compiled method makes its frame           hotspot/code/proof_code.c
 *   coloured references of ZGC                      hotspot/heap.c
 *   numbers of system calls in filters              helper/calls.c
 *   the first instructions of flamed-attach         helper/main.c
 *   system calls without a C library                agent/raw.h
 *   the frame of a sampled allocation               agent/alloc.c
 */
#pragma once

#include "unwind/frames.h"
#include "unwind/memory.h"

/* Where the caller's frame is, as an instruction tells it. */
enum unwind_shape {
    UNWIND_SHAPE_WHOLE,    /* the frame is complete, or the bytes say nothing */
    UNWIND_SHAPE_RETURN,   /* the return address is on top */
    UNWIND_SHAPE_FP,       /* saved fp on top, the return address above it */
    UNWIND_SHAPE_WHOLE_FP, /* the frame is there but fp is not saved yet, and still the caller's */
};

#ifdef UNWIND_AARCH64
#include "unwind/arch/aarch64.h"
#elif defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "unwind/arch/x86_64.h"
#else
#error "this architecture has no column in unwind/arch/arch.h"
#endif
