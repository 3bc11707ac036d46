/* SPDX-License-Identifier: Apache-2.0 */
/* A sample on its way to those that want it, and how it is named. Thread: the engine's. */
#pragma once

#include "profile/profile.h"
#include "sample/sample_abi.h"
#include "symbolize/symbolize.h"

/* What samples are named with, one after the other. */
struct naming {
    struct symbolizer *symbolizer; /* borrowed */
    struct frame_table *frames;    /* borrowed: the one that the symbolizer fills */
    struct named_stack *stack;     /* scratch, owned: one sample being named */
    uint64_t unknown;              /* samples with a frame that has no name */
    uint64_t truncated[PROFILE_ENDS];
    uint64_t refused; /* frame_table_refused() of the tables before this one */
};

/* A sample as it goes through: named at most once each way. */
struct incoming {
    struct naming *naming;
    const struct sample_record *rec;
    const uint64_t *frames;
    struct process *process;
    int named;      /* how naming->stack is named now: -1 not yet, 0 without Java names, 1 with,
                     * 2 with some that are decided later */
    bool counted;   /* in the engine's numbers */
    bool may_wait;  /* for symbols that are being read */
    bool waits;     /* it does: it is handed on again when they are there */
    uint16_t flags; /* PROFILE_SAMPLE_*, once named */
    uint32_t thread_name; /* string of naming->frames, once named */
};
/* Names it into its naming->stack, with or without Java names. Where it waits then, nobody takes it
 * yet. */
void incoming_name(struct incoming *in, bool java);
/* Does the same, with Java names; @later decides some of them. */
void incoming_name_later(struct incoming *in, const struct code_later *later);
/* Makes the sample as profiles keep it, once named; its thread is the caller's to set. */
void incoming_sample(const struct incoming *in, struct profile_sample *ret);
