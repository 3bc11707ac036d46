/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The list of all code that depends on the architecture. lint_arch fails if a file outside this
 * list names registers, instructions or the machine of ELF files. x86-64 has all of it. What
 * aarch64 lacks is refused there, or left unknown.
 *
 *   what                                            where, for x86-64
 *   calls, prologues, epilogues, signal frames      unwind/arch/x86_64.h
 *   entries of methods, stubs, adapters             unwind/arch/x86_64_rules.h
 *   choice of the rules to include                  unwind/arch/arch_rules.h
 *   slots of frames, for other layers too           unwind/frames.h
 *   coloured references of ZGC in walks             unwind/oop.h
 *   registers that a walk begins with               unwind/state.h
 *   the machine of ELF files, sections for tables   unwind_tables/ehframe_elf.c
 *   rules of call frames by DWARF's registers       unwind_tables/ehframe_cfa.c
 *   DWARF's numbers of registers                    unwind_tables/ehframe_cfa.h
 *   instructions of compiled methods                hotspot/leaf/x86_64.c
 *   registers in the kernel's form                  sample/registers.bpf.h
 *   registers that a perf event copies              sample/perf_abi.h
 *   registers at a probe                            sample/moment_abi.h
 *   kernel functions that give threads memory       sample/task_memory.c
 *
 * The same for aarch64:
 *   all of the first three rows                     unwind/arch/aarch64.h
 *   instructions at which a probe may stand         broker/start_aarch64.c
 *   tests of results of calls, for nativelive       broker/result_aarch64.c
 *   operands of USDT notes                          broker/usdt.c
 *   instructions of compiled methods                hotspot/leaf/aarch64.c
 *
 * Not yet done for aarch64:
 *   stack use of a native image's code              elf/image_code.c
 *   the outermost functions of musl                 elf/musl_start.c
 *   their effects, for leaves in loops              hotspot/leaf/x86_64_features.c
 *
 * For both:
 *   the processor of files with probes              broker/function_start.c
 *   the processor of libjvm                         hotspot/dynsym.c
 *   relocations of thread-local variables           hotspot/thread_variable.c
 *   calls of libjvm's functions                     hotspot/code/calls.c
 *   adapters between the interpreter and the rest   hotspot/code/adapters.c
 *   arguments of stubs that allocate                hotspot/code/allocation.c
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

/* The state of a frame at an instruction: where its return address and the caller's fp are. */
enum unwind_shape {
    UNWIND_SHAPE_WHOLE,    /* the frame is complete, or the instructions do not say */
    UNWIND_SHAPE_RETURN,   /* the return address is on top of the stack or in the link register */
    UNWIND_SHAPE_FP,       /* the saved fp is on top, the return address above it */
    UNWIND_SHAPE_WHOLE_FP, /* the frame is allocated, but the fp register is still the caller's */
};

#ifdef UNWIND_AARCH64
#include "unwind/arch/aarch64.h"
#elif defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "unwind/arch/x86_64.h"
#else
#error "this architecture has no column in unwind/arch/arch.h"
#endif
