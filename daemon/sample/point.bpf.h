/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs the filter of a tracepoint. The kernel's own filter runs only after the BPF programs. The
 * including file defines the functions that read, so that a test can run the same code.
 */
#pragma once

#include "sample/point_abi.h"

/* Room for a text that a filter compares. */
struct point_room {
    __u8 text[POINT_TEXT_BYTES];
};

/* Returns the number that test @t compares, extended to 64 bits. */
static __always_inline __u64 point_number(const void *ctx, const struct point_test *t)
{
    __u32 bytes = t->size, shift;
    __u64 v = 0;

    if (t->source == POINT_PID)
        v = (__u32)bpf_get_current_pid_tgid();
    else if (t->source == POINT_CPU)
        v = bpf_get_smp_processor_id();
    else if (bytes <= sizeof(v))
        bpf_probe_read_kernel(&v, bytes, (const char *)ctx + t->offset);
    if (t->has_sign) {
        shift = (64 - bytes * 8) & 63;
        v = (__u64)((__s64)(v << shift) >> shift);
    }
    return v ^ t->flip;
}

/* Returns true if the number @v passes test @t. */
static __always_inline bool point_compare(__u64 v, const struct point_test *t)
{
    return t->op == POINT_EQ   ? v == t->value
           : t->op == POINT_LT ? v < t->value
           : t->op == POINT_GT ? v > t->value
                               : (v & t->value) != 0;
}

/* Copies the text that @t compares to @to. Returns its bytes. */
static __always_inline __u32 point_read(const void *ctx, const struct point_text *t,
                                        __u8 to[POINT_TEXT_BYTES])
{
    __u32 bytes = t->bytes, offset = t->offset, told = 0;

    if (t->place == POINT_COMM) {
        bpf_get_current_comm(to, 16);
        return 16;
    }
    if (t->place != POINT_FIXED) {
        bpf_probe_read_kernel(&told, sizeof(told), (const char *)ctx + offset);
        offset = (told & 0xffff) + (t->place == POINT_BEHIND ? offset + sizeof(told) : 0);
        bytes = told >> 16;
    }
    if (bytes > POINT_TEXT_BYTES)
        bytes = POINT_TEXT_BYTES;
    if (bpf_probe_read_kernel(to, bytes, (const char *)ctx + offset))
        return 0;
    return bytes;
}

/* Returns 1 if the first @bytes of @room match @t. Not static: the kernel's verifier then checks it
 * once and on its own. */
UNWIND_FUNCTION int point_matches(const struct point_text *t, const struct point_room *room,
                                  __u32 bytes)
{
    __u64 states = 1;

    if (!t || !room)
        return 0;
    UNWIND_LOOP
    for (__u32 i = 0; i < POINT_TEXT_BYTES; i++) {
        __u8 c = room->text[i];

        if (i >= bytes || !c)
            break;
        states = (states & t->stay) | ((states << 1) & t->masks[c]);
    }
    return (states & t->end) != 0;
}

/* Returns true if the text of the event of @ctx that @t compares matches. @room: for the text. */
static __always_inline bool point_text_matches(const void *ctx, const struct point_text *t,
                                               struct point_room *room)
{
    __u32 bytes = point_read(ctx, t, room->text);

    return point_matches(t, room, bytes) > 0;
}

/* Returns true if @f wants the event of @ctx. @room: for its texts. */
static __attribute__((noinline)) bool point_takes(const void *ctx, const struct point_filter *f,
                                                  struct point_room *room)
{
    __u32 next = 0;

    if (f->test_count == 0)
        return true;
    UNWIND_LOOP
    for (__u32 i = 0; i < POINT_TESTS_MAX; i++) {
        const struct point_test *t = &f->tests[i];
        bool is;

        if (i != next)
            continue;
        is = t->source == POINT_TEXT
                 ? point_text_matches(ctx, &f->texts[t->value & (POINT_TEXTS_MAX - 1)], room)
                 : point_compare(point_number(ctx, t), t);
        next = is ? t->on_true : t->on_false;
    }
    return next == POINT_TAKE;
}
