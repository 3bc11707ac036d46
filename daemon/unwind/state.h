/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of one walk up a user stack. Walks allocate nothing and do not recurse. Every loop is
 * bounded. Only unwind_read() reads the target's memory.
 *
 * A home of the unwinder (a BPF program, or hotspot/waiting.c) includes this file. It defines these
 * before it includes step.h:
 *   static bool unwind_read(struct unwind_walk *w, void *to, uint32_t bytes, uint64_t from);
 *     counts w->reads
 *   static bool unwind_row(struct unwind_walk *w, uint32_t index, struct unwind_row *ret);
 *   static struct unwind_known *unwind_known_at(struct unwind_walk *w, uint32_t index);
 *     one of UNWIND_KNOWN_COUNT entries; never NULL
 *   static uint64_t unwind_java_thread(struct unwind_walk *w);
 *     the JavaThread of the sampled thread, as flamed found it; 0: not known
 *   UNWIND_OUT(out, i, word): stores word i of the output
 */
#pragma once

#include "unwind/process.h"
#include "unwind/unwind.h"

#define UNWIND_WINDOW_BYTES 4096 /* bytes of the stack that are copied at once; a power of two */
#define UNWIND_WINDOW_FIRST_BYTES 1024 /* the same for the first UNWIND_DEEP_WORDS of output */
#define UNWIND_DEEP_WORDS 32     /* a walk with this much output is likely to go on for long */
#define UNWIND_RUN_MAX 16        /* frames of one run of the hot path */
#define UNWIND_RECUR_MAX 128     /* frames of a recursion in one run */
#define UNWIND_KNOWN_COUNT 65536 /* entries of the table of known return addresses */
#define UNWIND_HOPS_MAX 96       /* hops in a code heap's segment map from a pc to its block */
#define UNWIND_READS_MAX 40000   /* reads of one walk: about a millisecond in interrupt context */
#define UNWIND_SIGNALS_MAX 8     /* signal frames of a walk: each may lead to another stack */
#define UNWIND_STEPS_PER_WORD 2  /* the walk may step back to a frame once */
#define UNWIND_STEP_BYTES_MAX (1u << 20)   /* the largest frame */
#define UNWIND_INTERPRETER_BYTES_MAX 32768 /* bytes between sp and fp of an interpreter frame */

/* How a step or a run of steps ended. */
enum unwind_outcome {
    UNWIND_GO_ON = 0,
    UNWIND_STOP = 1,   /* w->end is the reason */
    UNWIND_SLOWLY = 2, /* unwind_step() must walk the next frame */
};

/* Further ways to find the caller, beside those of rows. */
enum unwind_rule_base {
    UNWIND_BASE_INTERPRETER = UNWIND_BASE_COUNT, /* an interpreter frame at fp */
    UNWIND_BASE_DIRECT,                          /* w->next holds the caller */
    UNWIND_BASE_ENTRY,  /* as DIRECT, from an interpreter frame under construction or the adapter
                         * before it: the Method* is in a register */
    UNWIND_BASE_ANCHOR, /* as DIRECT, past native frames that could not be walked */
};

/* How to find the caller from one pc: the common form of a table row, a code blob and a decoded
 * instruction. */
struct unwind_rule {
    uint64_t blob;       /* the rule is valid as long as this nmethod; 0: always */
    uint32_t compile_id; /* compile id of the nmethod */
    int32_t cfa;         /* bytes from the base */
    int16_t fp;          /* x86-64: the caller's fp lies at CFA + fp; 0: unchanged. aarch64:
                          * arch/aarch64.h */
    uint8_t base;        /* enum unwind_base or unwind_rule_base */
    uint8_t kind;        /* enum unwind_kind */
    uint32_t keep;       /* 1: the rule cache may keep it for this pc */
};

/* A remembered rule. All kinds of code share one form, so that the hot loop needs no cases.
 * Functions of rule_cache.h read and write it. */
struct unwind_known {
    uint64_t sum; /* of the key and the other words */
    uint64_t blob;
    uint64_t seen; /* from bit 0: tick when the nmethod was last seen alive; 32: its compile id */
    uint64_t step; /* from bit 0: base; 8: kind; 16: fp; 32: cfa */
};
UNWIND_ASSERT(sizeof(struct unwind_known) == 32);

struct unwind_place {
    uint64_t pc, sp, fp;
};

/* Registers of the interrupted thread besides pc, sp and fp, under their names on x86-64 and
 * aarch64. */
struct unwind_registers {
    uint64_t thread; /* may be the JavaThread: r15, x28; 0: not known */
    uint64_t link;   /* return address: rax in adapters and method entries, x30 */
    uint64_t method; /* Method* while a method is entered: rbx, x12 */
    uint64_t bcp;    /* address of the bytecode: r13, x22. While a method is entered r13 is the
                      * caller's sp. */
    uint64_t sender, sender_17; /* aarch64: the caller's sp while a method is entered: x19, up to
                                 * JDK 17 x13 */
};

/* The eight bytes of code before a pc and the sixteen from the pc on. */
struct unwind_code {
    uint64_t before, at, after;
};

/*
 * Buffers of the slow path. They lie here because the kernel's verifier adds up the stacks of a
 * chain of calls and allows 512 bytes (tests/lint/bpf_stack.py). Each struct belongs to the
 * function named beside it and is valid while that function runs.
 */
struct unwind_step_words { /* unwind_step() */
    struct unwind_place here, to;
    uint64_t method, word, second;
};

struct unwind_find { /* unwind_find_blob() */
    uint64_t name;
    int32_t relative;
    uint8_t tag;
};

struct unwind_stub_words { /* unwind_stub_rule() */
    struct unwind_code code;
    uint64_t by_fp, by_sp;
};

struct unwind_stub_caller { /* unwind_stub_return() */
    uint64_t ra;
    int32_t size, complete;
    uint8_t first;
};

struct unwind_frozen_words {    /* functions of frozen.h; kept during the whole walk */
    struct unwind_place resume; /* the carrier's frame, where the walk continues after the chunks */
    uint64_t high;              /* end of the current chunk's frames; 0: the walk is in no chunk */
    uint64_t chunk, cont, object, word;
    struct unwind_forwarding forwarding;
    int32_t size, sp, bottom;
    uint8_t chunks; /* walked so far */
    uint8_t broken; /* the next frame cannot be read */
};

struct unwind_walk {
    struct unwind_place at, next; /* the current frame; its caller, for UNWIND_BASE_DIRECT */
    struct unwind_place back;     /* the callee of the current frame, to step back to */
    struct unwind_registers registers;
    uint64_t pointer; /* the thread pointer; 0: not known */
    uint64_t task;    /* process id << 32 | thread id, as in flamed's own PID namespace */
    struct unwind_rule rule;
    struct unwind_mapping mapping;       /* result of unwind_find_mapping() */
    uint64_t blob, blob_code, blob_name; /* result of unwind_find_blob() */
    uint64_t window_low;
    uint32_t window_bytes; /* valid bytes of the window: a multiple of 8 */
    uint32_t words, back_words, max_words;
    uint32_t tick, slot;
    uint32_t reads;   /* reads of the target's memory so far */
    uint8_t exact;    /* at.pc is the interrupted instruction, not a return address */
    uint8_t guessed;  /* at.pc comes from a remembered rule and is not validated yet; 2: of compiled
                       * code, which native code never calls */
    uint8_t distrust; /* ignore the remembered rule of this frame */
    uint8_t end;
    uint8_t signals; /* signal frames passed */
    uint8_t back_exact;
    uint8_t ruled;        /* the mapping has rows */
    uint8_t failed;       /* the rule of native code led nowhere */
    uint8_t anchored;     /* the thread's anchor was used: once in a walk */
    uint8_t wants_thread; /* the walk needed the JavaThread, which is not known */
    struct unwind_step_words step;
    struct unwind_find find;
    struct unwind_stub_words stub;
    struct unwind_stub_caller caller;
    struct unwind_frozen_words frozen;
    uint64_t window[UNWIND_WINDOW_BYTES / 8 + 1];
};

#ifdef __bpf__
/* Stands before a loop that must not be unrolled: copies of its body cost more in cold instructions
 * than they save. */
#define UNWIND_LOOP _Pragma("clang loop unroll(disable)")
/* Not static, so that the kernel's verifier checks each function once and on its own. */
#define UNWIND_FUNCTION __attribute__((noinline))
#define UNWIND_INLINE static __attribute__((always_inline)) inline
/* Keeps clang from folding a mask: the verifier must see it on the very register that is used. */
#define UNWIND_MASK(i, mask) asm volatile("%0 &= %1" : "+r"(i) : "i"(mask))
/* Keeps the value of the 64-bit number @i, but makes the verifier forget the bounds it knows. All
 * ways through a loop then look alike, and the verifier follows one. @by: any other number of
 * unknown value. */
#define UNWIND_BLUR(i, by) asm volatile("%0 ^= %1\n%0 ^= %1" : "+r"(i) : "r"((uint64_t)(by)))
#else
#define UNWIND_FUNCTION static __attribute__((unused))
#define UNWIND_INLINE static inline __attribute__((unused))
#define UNWIND_MASK(i, mask) ((i) &= (mask))
#define UNWIND_BLUR(i, by) ((void)0)
#define UNWIND_LOOP
#endif
