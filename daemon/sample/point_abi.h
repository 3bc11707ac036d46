/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The filter of a tracepoint, translated by point_filter.c and run by the BPF program. The tests
 * are in the order of the filter's text. Each test has the index of the next one for either result,
 * always a later one. An automaton compares a text: bit i of its state says that i characters of
 * the pattern are matched.
 */
#pragma once

#include <linux/types.h>

#define POINT_TESTS_MAX 16
#define POINT_TEXTS_MAX 4    /* a power of two */
#define POINT_TEXT_BYTES 256 /* compared bytes of a field */
#define POINT_PATTERN_MAX 63 /* characters of a pattern, without its stars */
#define POINT_TAKE 254       /* in place of the next test: the event is wanted */
#define POINT_DROP 255       /* in place of the next test: the event is not wanted */

enum point_source {
    POINT_NUMBER, /* a field of the event */
    POINT_PID,    /* id of the running thread */
    POINT_CPU,
    POINT_TEXT, /* value: index of the text */
};

enum point_op { POINT_EQ, POINT_LT, POINT_GT, POINT_AND };

struct point_test {
    __u64 value; /* number to compare with: extended and flipped like the field */
    __u64 flip;  /* bits of the extended field to invert: the sign bit, if it has one */
    __u16 offset;
    __u8 size; /* bytes of the field: 1, 2, 4 or 8 */
    __u8 has_sign;
    __u8 source;  /* enum point_source */
    __u8 op;      /* enum point_op */
    __u8 on_true; /* the next test if this one passes */
    __u8 on_false;
};

enum point_place {
    POINT_FIXED,   /* in the field itself */
    POINT_DYNAMIC, /* the field holds its position in the event */
    POINT_BEHIND,  /* the field holds the distance from its own end */
    POINT_COMM,    /* name of the running thread */
};

struct point_text {
    __u16 offset, bytes;
    __u32 place;      /* enum point_place */
    __u64 stay;       /* state bits that every character keeps: those before a star */
    __u64 end;        /* the state in which the whole pattern is matched */
    __u64 masks[256]; /* by character: the states that it leads to */
};

struct point_filter {
    __u32 test_count; /* 0: every event is wanted */
    __u32 zero;
    struct point_test tests[POINT_TESTS_MAX];
    struct point_text texts[POINT_TEXTS_MAX];
};
