/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places an interrupted pc in a tree of inlined methods. HotSpot writes records (PcDesc, scopes) at
 * calls and polls alone. The record behind a pc in a loop may belong to the code after the loop. So
 * a pc in a loop takes a record of this very loop. Such a record is on the way round the loop, or
 * at a trap that a branch in the loop leads to. If the loop has no record, its code is compared
 * with bytecode loops (feature.h). Candidates are the loops that can run between the nearest
 * records before and behind it. If that does not decide, the place is unsure.
 *
 * Pure: the caller passes all input in arrays. The input is from foreign memory, so the caller
 * computes all indices itself, and all work is bounded. Thread: any.
 */
#pragma once

#include "hotspot/leaf/graph.h"

#define LEAF_DEPTH_MAX 64

/* A method at a bytecode index; -1: its entry. */
struct leaf_frame {
    uint32_t method; /* index in input->methods */
    int32_t bci;
};

/* The frames of a record, innermost first. The last frame is that of the compiled method. */
struct leaf_chain {
    uint32_t first, count; /* range in input->frames */
};

struct leaf_record {
    uint32_t at;    /* bytes from the code's start */
    uint32_t chain; /* index in input->chains */
};

/* A bytecode loop: the bytecodes [head, end) from the target of a backward branch on. */
struct leaf_span {
    int32_t head, end;
    uint32_t nested; /* nesting depth, counted from the innermost loop, which has 1 */
};

/* A call in a method's bytecodes, with its target. */
struct leaf_invoke {
    int32_t bci;
    uint32_t target; /* index in input->methods; LEAF_NONE: unknown */
};

/* A feature of a method's bytecodes, which its machine code may have, too. */
struct leaf_sign {
    int32_t bci;
    uint32_t key; /* feature.h */
};

struct leaf_method {
    uint32_t first, count;      /* its loops in input->spans; smaller ones first */
    uint32_t invokes;           /* its calls in input->invokes, in order */
    uint32_t invoke_count;      /* number of its calls, known even if they are not read */
    uint32_t signs, sign_count; /* range in input->signs, in order of bytecodes */
    bool known;                 /* false: its bytecodes were unreadable */
    bool resolved;              /* its invokes and signs were read */
};

/* Input of the rule. Borrows all arrays. */
struct leaf_input {
    const struct leaf_instruction *instructions;
    size_t instruction_count;
    struct leaf_ways ways;
    const struct leaf_record *records; /* sorted */
    size_t record_count;
    const struct leaf_chain *chains;
    size_t chain_count;
    const struct leaf_frame *frames;
    size_t frame_count;
    const struct leaf_method *methods; /* the first is the compiled method */
    size_t method_count;
    const struct leaf_span *spans;
    size_t span_count;
    const struct leaf_invoke *invokes;
    size_t invoke_count;
    const struct leaf_sign *signs;
    size_t sign_count;
    bool aarch64;                /* the code is of aarch64; else of x86-64 */
    struct span code, constants; /* bytes of the instructions; bytes of the constants, which end
                                    where the code begins */
    uint8_t
        *wanted; /* [method_count] set to 1 if resolving the method would help; NULL: not used */
};

enum leaf_verdict {
    LEAF_RECORDED, /* HotSpot's own rule holds: the next record */
    LEAF_INFERRED,
    LEAF_UNSURE, /* the code belongs to the given frame, or to a method inlined there */
};

#define LEAF_BCI_KEPT INT32_MIN

/* The frames that the instructions at [start, end) belong to. */
struct leaf_range {
    uint32_t start, end; /* bytes from the code's start */
    uint32_t chain;      /* LEAF_NONE: the compiled method, at an unknown bytecode */
    int32_t bci;         /* bci in the innermost remaining frame; LEAF_BCI_KEPT: as in the chain */
    uint32_t callee;     /* method inlined there without a record; LEAF_NONE: none */
    int32_t callee_bci;
    uint8_t drop;    /* innermost frames of the chain to leave out */
    uint8_t verdict; /* enum leaf_verdict; never LEAF_RECORDED */
};

/* Ranges in ascending order that do not overlap. Code outside all ranges is LEAF_RECORDED. */
struct leaf_ranges {
    struct leaf_range *at; /* owned */
    size_t count, room;
};

/* Finds the ranges of @in, over its graph @g. Return: 0 and *ret, with an array that the caller
 * frees; -E2BIG: too much work; -ENOMEM. */
int leaf_ranges_make(const struct leaf_input *in, struct leaf_graph *g, struct leaf_ranges *ret);
/* Returns the range that holds @pc; NULL: none. */
const struct leaf_range *leaf_ranges_find(const struct leaf_ranges *r, uint32_t pc);
