/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a tree of inlined methods an interrupted pc is. HotSpot writes records (PcDesc, scopes)
 * at calls and polls alone. The record behind a pc in a loop may belong to what follows the loop.
 * So a pc in a loop takes a record of this very loop. That stands on the way round, or at a trap
 * that a branch leads to. If there is none, the bytecode loops that can run between the nearest
 * records before and behind it are compared with its code (feature.h). What that leaves open is
 * unsure.
 *
 * Pure: all input is handed in as arrays. It comes of foreign memory, so the caller makes all
 * indices itself, and all work is bounded. Thread: any.
 */
#pragma once

#include "hotspot/leaf/graph.h"

#define LEAF_DEPTH_MAX 64

/* A method at a bytecode index; -1: its entry. */
struct leaf_frame {
    uint32_t method; /* in input->methods */
    int32_t bci;
};

/* The frames of a record, innermost first; the last is the compiled method. */
struct leaf_chain {
    uint32_t first, count; /* in input->frames */
};

struct leaf_record {
    uint32_t at;    /* bytes from the code's start */
    uint32_t chain; /* in input->chains */
};

/* Bytecodes [head, end) that a backward branch to head encloses. */
struct leaf_span {
    int32_t head, end;
    uint32_t nested; /* loops inside one another, this one counted */
};

/* A call of a method's bytecodes, by what it resolves to. */
struct leaf_invoke {
    int32_t bci;
    uint32_t target; /* in input->methods; LEAF_NONE: not known */
};

/* What of a method's bytecodes its machine code shows, too. */
struct leaf_sign {
    int32_t bci;
    uint32_t key; /* feature.h */
};

struct leaf_method {
    uint32_t first, count;      /* its loops, in input->spans; the small ones first */
    uint32_t invokes;           /* its calls, in input->invokes, in order */
    uint32_t invoke_count;      /* how many it has, also where they are not there */
    uint32_t signs, sign_count; /* in input->signs, in order */
    bool known;                 /* false: its bytecodes could not be read */
    bool resolved;              /* its invokes and signs are there */
};

/* Borrowed arrays. */
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
    const struct leaf_method *methods; /* the first is the compiled one */
    size_t method_count;
    const struct leaf_span *spans;
    size_t span_count;
    const struct leaf_invoke *invokes;
    size_t invoke_count;
    const struct leaf_sign *signs;
    size_t sign_count;
    struct span code, constants; /* the instructions' bytes, and those that end where they begin */
    uint8_t
        *wanted; /* [method_count] set to 1 where a method that is not resolved would tell; NULL */
};

enum leaf_verdict {
    LEAF_RECORDED, /* HotSpot's own rule holds: the next record */
    LEAF_INFERRED,
    LEAF_UNSURE, /* in the frame named, or in one that is inlined there */
};

#define LEAF_BCI_KEPT INT32_MIN

/* What the instructions at [start, end) belong to. */
struct leaf_range {
    uint32_t start, end; /* bytes from the code's start */
    uint32_t chain;      /* LEAF_NONE: the compiled method, at no known bytecode */
    int32_t bci;         /* of the innermost frame that is left; LEAF_BCI_KEPT: as in the chain */
    uint32_t callee;     /* a method that is inlined there and left no record; LEAF_NONE */
    int32_t callee_bci;
    uint8_t drop;    /* innermost frames of the chain that are left out */
    uint8_t verdict; /* enum leaf_verdict; never LEAF_RECORDED */
};

/* Sorted, not overlapping. What is in none is LEAF_RECORDED. */
struct leaf_ranges {
    struct leaf_range *at; /* owned */
    size_t count, room;
};

/* Finds the ranges of @in, over its graph @g. 0 and *ret, whose array the caller frees; -E2BIG: too
 * much work; -ENOMEM. */
int leaf_ranges_make(const struct leaf_input *in, struct leaf_graph *g, struct leaf_ranges *ret);
/* Returns the range that has @pc; NULL: none. */
const struct leaf_range *leaf_ranges_find(const struct leaf_ranges *r, uint32_t pc);
