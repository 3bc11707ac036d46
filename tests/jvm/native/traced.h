/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a traced process, which is stopped, do a system call. For x86-64 and aarch64. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#ifdef __aarch64__
#define CALL_INSTRUCTION 0xd4000001u /* svc #0 */
#define CALL_BYTES 4
#define CALL_ALIGNMENT 4
#define PC(r) ((r).pc)
#define SP(r) ((r).sp)
#define RESULT(r) ((long)(r).regs[0])
#else
#define CALL_INSTRUCTION 0x050fu /* syscall */
#define CALL_BYTES 2
#define CALL_ALIGNMENT 1
#define PC(r) ((r).rip)
#define SP(r) ((r).rsp)
#define RESULT(r) ((long)(r).rax)
#endif

static int is_call(pid_t pid, uint64_t at)
{
    uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);

    return (word & ((1ull << CALL_BYTES * 8) - 1)) == CALL_INSTRUCTION;
}

static long get_registers(pid_t pid, struct user_regs_struct *ret)
{
    struct iovec v = { ret, sizeof(*ret) };

    return ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v);
}

/* Sets its registers to call NUMBER by the instruction AT. No call of its own is begun again. */
static long set_call(pid_t pid, struct user_regs_struct *r, uint64_t at, long number,
                     const uint64_t args[6])
{
    struct iovec v = { r, sizeof(*r) };

#ifdef __aarch64__
    int none = -1;
    struct iovec n = { &none, sizeof(none) };

    memcpy(r->regs, args, 6 * sizeof(args[0]));
    r->regs[8] = (uint64_t)number;
    if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &n) < 0)
        return -1;
#else
    r->rdi = args[0], r->rsi = args[1], r->rdx = args[2];
    r->r10 = args[3], r->r8 = args[4], r->r9 = args[5];
    r->rax = (unsigned long)number;
    r->orig_rax = -1ul;
#endif
    PC(*r) = at;
    return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v);
}
