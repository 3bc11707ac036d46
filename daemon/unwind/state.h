/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of one walk up a user stack, and what both homes must give to it. No allocation, no
 * recursion, every loop bounded; memory of the target only through unwind_read().
 *
 * A home includes this file and defines, before it includes step.h:
 *   static bool unwind_read(struct unwind_walk *w, void *to, uint32_t bytes, uint64_t from);
 *     which counts w->reads
 *   static bool unwind_row(struct unwind_walk *w, uint32_t index, struct unwind_row *ret);
 *   static struct unwind_known *unwind_known_at(struct unwind_walk *w, uint32_t index);
 *     of UNWIND_KNOWN_COUNT; never NULL
 *   static uint64_t unwind_java_thread(struct unwind_walk *w);
 *     the JavaThread of the thread at hand as flamed found it, 0: not known
 *   UNWIND_OUT(out, i, word): stores word i of the answer
 */
#pragma once

#include "unwind/process.h"
#include "unwind/unwind.h"

#define UNWIND_WINDOW_BYTES 4096         /* of the stack, copied at once; a power of two */
#define UNWIND_WINDOW_FIRST_BYTES 1024   /* the same, of a walk that may end soon */
#define UNWIND_DEEP_WORDS 32             /* after so many it will not */
#define UNWIND_RUN_MAX 16                /* frames of the hot path at once */
#define UNWIND_RECUR_MAX 128             /* frames of a recursion at once */
#define UNWIND_KNOWN_COUNT 65536         /* entries of the table of known return addresses */
#define UNWIND_HOPS_MAX 96               /* through a code heap's segment map */
#define UNWIND_READS_MAX 40000           /* of one walk: about a millisecond in interrupt context */
#define UNWIND_SIGNALS_MAX 8             /* frames of handlers: each may lead to another stack */
#define UNWIND_STEPS_PER_WORD 2          /* a frame may be stepped back to once */
#define UNWIND_STEP_BYTES_MAX (1u << 20) /* no frame is larger */
#define UNWIND_INTERPRETER_BYTES_MAX 32768 /* from sp to fp of an interpreter frame */

/* What became of some steps. */
enum unwind_outcome {
    UNWIND_GO_ON = 0,
    UNWIND_STOP = 1,   /* w->end says why */
    UNWIND_SLOWLY = 2, /* the frame at hand is for unwind_step() */
};

/* More ways to find the caller, besides those of a row. */
enum unwind_rule_base {
    UNWIND_BASE_INTERPRETER = UNWIND_BASE_COUNT, /* an interpreter frame at fp */
    UNWIND_BASE_DIRECT,                          /* w->next holds the caller */
    UNWIND_BASE_ENTRY,  /* the same, of an interpreter frame under construction, or of the adapter
                         * before it: its Method* is in a register */
    UNWIND_BASE_ANCHOR, /* the same, with native frames between that are not known */
};

/* How to step from one pc. What a table row, a code blob and a decoded instruction all amount to.
 */
struct unwind_rule {
    uint64_t blob;       /* the nmethod whose life bounds the rule's, 0: none */
    uint32_t compile_id; /* of it */
    int32_t cfa;         /* bytes from the base */
    int16_t fp;          /* the caller's fp lies at CFA + fp; 0: unchanged */
    uint8_t base;        /* enum unwind_base or unwind_rule_base */
    uint8_t kind;        /* enum unwind_kind */
    uint32_t keep;       /* 1: may be remembered for this pc */
};

/* What a pc means, remembered: one form for all kinds of code, so that the hot loop has no cases.
 */
struct unwind_known {
    uint64_t key; /* pc, slot of the process, bit 63: exact pc; 0: empty. Written last. */
    uint64_t blob;
    uint32_t compile_id;
    uint32_t tick; /* when the blob was last seen alive */
    int32_t cfa;
    int16_t fp;
    uint8_t base, kind;
};
UNWIND_ASSERT(sizeof(struct unwind_known) == 32);

struct unwind_place {
    uint64_t pc, sp, fp;
};

/* What else than its place a thread has in registers where it is interrupted. As x86-64 and as
 * aarch64 call them. */
struct unwind_registers {
    uint64_t thread; /* what may be the JavaThread: r15, x28; 0: not known */
    uint64_t link;   /* the return address: rax in adapters and entries, x30 */
    uint64_t method; /* Method* on the way into a method: rbx, x12 */
    uint64_t bcp; /* the address of the bytecode: r13, x22. On the way in r13 is the caller's sp. */
    uint64_t sender, sender_17; /* aarch64: the same, x19, and till JDK 17 x13 */
};

/* Sixteen bytes of code from a pc on and the eight before it. */
struct unwind_code {
    uint64_t before, at, after;
};

/*
 * What functions of the slow path read into. It lies here and not on their stacks. The kernel's
 * verifier adds up the stacks of a whole chain of calls, and takes 512 bytes at most
 * (tests/lint/bpf_stack.py). Each member belongs to one function, valid while that runs.
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

struct unwind_frozen_words {    /* functions of frozen.h */
    struct unwind_place resume; /* the carrier's frame behind the chunks */
    uint64_t high;              /* right behind the frames of the chunk at hand; 0: at none */
    uint64_t chunk, cont, object, word;
    struct unwind_forwarding forwarding;
    int32_t size, sp, bottom;
    uint8_t chunks; /* so far */
    uint8_t broken; /* what follows cannot be read */
};

struct unwind_walk {
    struct unwind_place at, next; /* the frame at hand; its caller, for UNWIND_BASE_DIRECT */
    struct unwind_place back;     /* the frame before it, to step back to */
    struct unwind_registers registers;
    uint64_t pointer; /* the thread pointer; 0: not known */
    uint64_t task;    /* process id << 32 | thread id, as flamed numbers them */
    struct unwind_rule rule;
    struct unwind_mapping mapping;       /* what unwind_find_mapping() found */
    uint64_t blob, blob_code, blob_name; /* what unwind_find_blob() found */
    uint64_t window_low;
    uint32_t window_bytes; /* that are valid: a multiple of 8 */
    uint32_t words, back_words, max_words;
    uint32_t tick, slot;
    uint32_t reads;   /* of the target's memory */
    uint8_t exact;    /* at.pc is where execution stands, not a return address */
    uint8_t guessed;  /* at.pc was found by a remembered rule and is not checked yet; 2: and the
                       * frame  was compiled code, which native code never calls */
    uint8_t distrust; /* do not use what is remembered for this frame */
    uint8_t end;
    uint8_t signals; /* frames of handlers passed */
    uint8_t back_exact;
    uint8_t ruled;        /* the mapping has rows */
    uint8_t failed;       /* native code's own rule led nowhere */
    uint8_t anchored;     /* the thread's anchor was used: once a walk */
    uint8_t wants_thread; /* the anchor was wanted, and the JavaThread is not known */
    struct unwind_step_words step;
    struct unwind_find find;
    struct unwind_stub_words stub;
    struct unwind_stub_caller caller;
    struct unwind_frozen_words frozen;
    uint64_t window[UNWIND_WINDOW_BYTES / 8 + 1];
};

#ifdef __bpf__
/* Before a loop that is to stay one: copies of its body cost more in cold instructions than they
 * save. */
#define UNWIND_LOOP _Pragma("clang loop unroll(disable)")
/* Not static: the kernel's verifier then checks each of them once and on its own. */
#define UNWIND_FUNCTION __attribute__((noinline))
#define UNWIND_INLINE static __attribute__((always_inline)) inline
/* Keeps clang from folding a mask that the verifier must see in the very register that is used. */
#define UNWIND_MASK(i, mask) asm volatile("%0 &= %1" : "+r"(i) : "i"(mask))
/* Leaves the 64-bit number @i as it is, and makes the verifier forget what it knows of it. So the
 * ways through a loop are all one to it, and it need not follow each. @by: any other number that it
 * knows nothing of. */
#define UNWIND_BLUR(i, by) asm volatile("%0 ^= %1\n%0 ^= %1" : "+r"(i) : "r"((uint64_t)(by)))
#else
#define UNWIND_FUNCTION static __attribute__((unused))
#define UNWIND_INLINE static inline __attribute__((unused))
#define UNWIND_MASK(i, mask) ((i) &= (mask))
#define UNWIND_BLUR(i, by) ((void)0)
#define UNWIND_LOOP
#endif
