/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The filter of a tracepoint, as point_filter.c translates it and the BPF program runs it. Tests
 * lie in the order of the text; each says which one comes next, always one behind it. A text is
 * compared by an automaton: bit i of its state says that i characters of the pattern have been
 * matched.
 */
#pragma once

#include <linux/types.h>

#define POINT_TESTS_MAX 16
#define POINT_TEXTS_MAX 4    /* a power of two */
#define POINT_TEXT_BYTES 256 /* of a field that are compared */
#define POINT_PATTERN_MAX 63 /* characters of a pattern, without its stars */
#define POINT_TAKE 254       /* in place of the next test: the event is wanted, */
#define POINT_DROP 255       /* or it is not */

enum point_source {
    POINT_NUMBER, /* a field of the event */
    POINT_PID,    /* of the thread that runs */
    POINT_CPU,
    POINT_TEXT, /* value: which of the texts */
};

enum point_op { POINT_EQ, POINT_LT, POINT_GT, POINT_AND };

struct point_test {
    __u64 value; /* to compare with, extended and flipped as the field's */
    __u64 flip;  /* bits of the extended field to invert: those of numbers with a sign */
    __u16 offset;
    __u8 size; /* of the field: 1, 2, 4 or 8 */
    __u8 has_sign;
    __u8 source;  /* enum point_source */
    __u8 op;      /* enum point_op */
    __u8 on_true; /* the next test */
    __u8 on_false;
};

enum point_place {
    POINT_FIXED,   /* in the field itself */
    POINT_DYNAMIC, /* the field says where */
    POINT_BEHIND,  /* the field says how far behind it */
    POINT_COMM,    /* name of the thread that runs */
};

struct point_text {
    __u16 offset, bytes;
    __u32 place;      /* enum point_place */
    __u64 stay;       /* states that any character keeps: those before a star */
    __u64 end;        /* the state that has matched all */
    __u64 masks[256]; /* states that this character leads to */
};

struct point_filter {
    __u32 test_count; /* 0: each event is wanted */
    __u32 zero;
    struct point_test tests[POINT_TESTS_MAX];
    struct point_text texts[POINT_TEXTS_MAX];
};
