/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For BPF programs: the user's registers and system calls, as the kernel keeps them. */
#pragma once

#include <linux/bpf.h>

#include <asm/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sample/alloc_abi.h"
#include "sample/moment_abi.h"
#include "unwind/state.h"

/* The first six arguments of a call, and the seventh or the address of the seventh. */
struct arguments {
    __u64 n[6], seventh;
};

#ifdef __TARGET_ARCH_x86

#define PROBE_REGISTERS 16 /* a power of two */

typedef struct pt_regs probe_registers; /* context of a program at a uprobe */

struct pt_regs___kernel { /* the user's registers, by the kernel's names */
    unsigned long r15, r13, bp, bx, ax, si, di, orig_ax, ip, cs, sp;
} __attribute__((preserve_access_index));

struct thread_struct {
    unsigned long fsbase; /* the thread pointer: the end of a thread's own memory */
} __attribute__((preserve_access_index));

#define THREAD_POINTER(thread) ((thread).fsbase)
#define INTERRUPTED_KERNEL(ctx) (((ctx)->regs.cs & 3) == 0)
#define USER_CS_64 0x33
#define SYSCALL_FUTEX 202

/* Returns true if the thread runs 64-bit code. */
static __always_inline bool user_is_64(const struct pt_regs___kernel *r)
{
    return r->cs == USER_CS_64;
}

/* Returns the user's program counter. */
static __always_inline __u64 user_pc(const struct pt_regs___kernel *r)
{
    return r->ip;
}

/* Returns the user's stack pointer. */
static __always_inline __u64 user_sp(const struct pt_regs___kernel *r)
{
    return r->sp;
}

/* Returns the user's frame pointer. */
static __always_inline __u64 user_fp(const struct pt_regs___kernel *r)
{
    return r->bp;
}

/* Returns the register that may hold the JavaThread. */
static __always_inline __u64 user_thread(const struct pt_regs___kernel *r)
{
    return r->r15;
}

/* Copies the members of struct unwind_registers. */
static __always_inline void user_registers(struct unwind_registers *to,
                                           const struct pt_regs___kernel *r)
{
    to->thread = r->r15;
    to->link = r->ax;
    to->method = r->bx;
    to->bcp = r->r13;
}

/* Returns the number of the system call, and gets its first two arguments. */
static __always_inline __u64 user_call(const struct pt_regs___kernel *r, __u64 *first,
                                       __u64 *second)
{
    *first = r->di;
    *second = r->si;
    return r->orig_ax;
}

/* Copies the arguments of a function at its first instruction. */
static __always_inline void take_arguments(const probe_registers *ctx, struct arguments *to)
{
    __u64 di = ctx->rdi, si = ctx->rsi, dx = ctx->rdx, cx = ctx->rcx, r8 = ctx->r8, r9 = ctx->r9;
    __u64 sp = ctx->rsp;

    /* Otherwise clang reads the context through a modified pointer, which the verifier refuses. */
    asm volatile("" : "+r"(di), "+r"(si), "+r"(dx), "+r"(cx), "+r"(r8), "+r"(r9), "+r"(sp));
    *to = (struct arguments){ { di, si, dx, cx, r8, r9 }, sp + sizeof(__u64) };
}

/* Gets the seventh argument. */
static __always_inline void take_seventh(const struct arguments *a, __u64 *ret)
{
    bpf_probe_read_user(ret, sizeof(*ret), (const void *)a->seventh);
}

/* Returns the address of word @i, counted from 1, in the TLS of the thread with the thread pointer
 * @tp. */
static __always_inline __u64 thread_word(__u64 tp, __u32 i)
{
    return tp - i * sizeof(__u64);
}

/* Copies registers, by enum moment_register. */
static __always_inline void take_registers(const probe_registers *ctx, __u64 *regs)
{
    regs[MOMENT_RAX] = ctx->rax;
    regs[MOMENT_RBX] = ctx->rbx;
    regs[MOMENT_RCX] = ctx->rcx;
    regs[MOMENT_RDX] = ctx->rdx;
    regs[MOMENT_RSI] = ctx->rsi;
    regs[MOMENT_RDI] = ctx->rdi;
    regs[MOMENT_RBP] = ctx->rbp;
    regs[MOMENT_RSP] = ctx->rsp;
    regs[MOMENT_R8] = ctx->r8;
    regs[MOMENT_R9] = ctx->r9;
    regs[MOMENT_R10] = ctx->r10;
    regs[MOMENT_R11] = ctx->r11;
    regs[MOMENT_R12] = ctx->r12;
    regs[MOMENT_R13] = ctx->r13;
    regs[MOMENT_R14] = ctx->r14;
    regs[MOMENT_R15] = ctx->r15;
}

/* Copies registers, by their numbers in instructions. */
static __always_inline void number_registers(const probe_registers *ctx,
                                             __u64 regs[ALLOC_REGISTERS])
{
    regs[0] = ctx->rax;
    regs[1] = ctx->rcx;
    regs[2] = ctx->rdx;
    regs[3] = ctx->rbx;
    regs[4] = ctx->rsp;
    regs[5] = ctx->rbp;
    regs[6] = ctx->rsi;
    regs[7] = ctx->rdi;
    regs[8] = ctx->r8;
    regs[9] = ctx->r9;
    regs[10] = ctx->r10;
    regs[11] = ctx->r11;
    regs[12] = ctx->r12;
    regs[13] = ctx->r13;
    regs[14] = ctx->r14;
    regs[15] = ctx->r15;
}

#else /* aarch64 */

#define PROBE_REGISTERS 32

typedef struct user_pt_regs probe_registers;

#define COPY_ALL _Pragma("clang loop unroll(full)") /* the context has only constant offsets */

struct pt_regs___kernel {
    __u64 regs[31], sp, pc, pstate, orig_x0;
} __attribute__((preserve_access_index));

struct thread_words {
    unsigned long tp_value;
} __attribute__((preserve_access_index));

struct thread_struct {
    struct thread_words uw;
} __attribute__((preserve_access_index));

#define THREAD_POINTER(thread) ((thread).uw.tp_value)
#define PSTATE_MODE 15 /* 0: user mode */
#define PSTATE_32 16
#define INTERRUPTED_KERNEL(ctx) (((ctx)->regs.pstate & PSTATE_MODE) != 0)
#define SYSCALL_FUTEX 98

/* Returns true if the thread runs 64-bit code. */
static __always_inline bool user_is_64(const struct pt_regs___kernel *r)
{
    return !(r->pstate & PSTATE_32);
}

/* Returns the user's program counter. */
static __always_inline __u64 user_pc(const struct pt_regs___kernel *r)
{
    return r->pc;
}

/* Returns the user's stack pointer. */
static __always_inline __u64 user_sp(const struct pt_regs___kernel *r)
{
    return r->sp;
}

/* Returns the user's frame pointer. */
static __always_inline __u64 user_fp(const struct pt_regs___kernel *r)
{
    return r->regs[29];
}

/* Returns the register that may hold the JavaThread. */
static __always_inline __u64 user_thread(const struct pt_regs___kernel *r)
{
    return r->regs[28];
}

/* Copies the members of struct unwind_registers. */
static __always_inline void user_registers(struct unwind_registers *to,
                                           const struct pt_regs___kernel *r)
{
    to->thread = r->regs[28];
    to->link = r->regs[30];
    to->method = r->regs[12];
    to->bcp = r->regs[22];
    to->sender = r->regs[19];
    to->sender_17 = r->regs[13];
}

/* Returns the number of the system call, and gets its first two arguments. */
static __always_inline __u64 user_call(const struct pt_regs___kernel *r, __u64 *first,
                                       __u64 *second)
{
    *first = r->orig_x0;
    *second = r->regs[1];
    return r->regs[8];
}

/* Copies the arguments of a function at its first instruction. */
static __always_inline void take_arguments(const probe_registers *ctx, struct arguments *to)
{
    COPY_ALL
    for (__u32 i = 0; i < 6; i++)
        to->n[i] = ctx->regs[i];
    to->seventh = ctx->regs[6];
}

/* Gets the seventh argument. */
static __always_inline void take_seventh(const struct arguments *a, __u64 *ret)
{
    *ret = a->seventh;
}

/* Returns the address of word @i, counted from 1, in the TLS of the thread with the thread pointer
 * @tp. */
static __always_inline __u64 thread_word(__u64 tp, __u32 i)
{
    return tp + i * sizeof(__u64);
}

/* Copies registers, by their numbers. */
static __always_inline void take_registers(const probe_registers *ctx, __u64 *regs)
{
    COPY_ALL
    for (__u32 i = 0; i < MOMENT_SP; i++)
        regs[i] = ctx->regs[i];
    regs[MOMENT_SP] = ctx->sp;
}

/* Copies registers, as ALLOC_REGISTERS_FIRST says. */
static __always_inline void number_registers(const probe_registers *ctx,
                                             __u64 regs[ALLOC_REGISTERS])
{
    COPY_ALL
    for (__u32 i = 0; i < ALLOC_REGISTERS; i++)
        regs[i] = ctx->regs[i < ALLOC_REGISTERS_FIRST ? i : i - ALLOC_REGISTERS_FIRST + 19];
}

#endif
