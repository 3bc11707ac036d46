/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one list of what an architecture must give. x86-64 has the only column so far. A file whose
 * code names registers, instructions or the machine of ELF files stands in it, or lint_arch fails.
 *
 *   what                                            x86-64
 *   calls, prologues, epilogues, signal frames      unwind/arch/x86_64.h
 *   registers that a walk begins with               unwind/state.h
 *   frames of the interpreter, entries of methods   unwind/java.h
 *   frames of stubs and adapters                    unwind/stubs.h
 *   what a step does with a saved register          unwind/step.h
 *   the machine of ELF files, sections for tables   unwind_tables/ehframe_elf.c
 *   rules of call frames by DWARF's registers       unwind_tables/ehframe_cfa.c
 *   registers of a sample                           sample/sample_abi.h
 *   registers that a perf event copies              sample/perf_abi.h
 *   the same as a sample has them                   sample/perf_rings.c
 *   the same as the kernel has them                 sample/stack.bpf.h
 *   the same of a thread that waits                 sample/task.bpf.h
 *   walks of threads that wait                      hotspot/waiting.c
 *   registers at a probe                            sample/moment_abi.h
 *   the same as the kernel has them                 sample/moment_probes.bpf.h
 *   the register with the JavaThread                sample/moments.bpf.c
 *   arguments of a call of HotSpot                  sample/alloc.bpf.c
 *   arguments and results of malloc                 sample/native_live.bpf.h
 *   where functions begin and return                broker/function_start.c
 *   operands of USDT notes                          broker/usdt.c
 *   what a native image's code does to its stack    elf/image_code.c
 *   the outermost functions of musl                 elf/musl_start.c
 *   instructions of compiled methods                hotspot/leaf/x86_64.c
 *   what they do, for leaves in loops               hotspot/leaf/x86_64_features.c
 *   adapters between the interpreter and the rest   hotspot/code/adapters.c
 *   calls of stubs that allocate                    hotspot/code/allocation.c
 *   how a compiled method makes its frame           hotspot/code/proof_code.c
 *   coloured references of ZGC                      hotspot/heap.c
 *   numbers of system calls in filters              helper/calls.c
 *   the first instructions of flamed-attach         helper/main.c
 *   system calls without a C library                agent/raw.h
 *   the frame of a sampled allocation               agent/alloc.c
 */
#pragma once

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "unwind/arch/x86_64.h"
#else
#error "this architecture has no column in unwind/arch/arch.h"
#endif
