/* SPDX-License-Identifier: Apache-2.0 */
/* A sample on its way to captures and recorder, and its naming. Thread: the engine's. */
#pragma once

#include "profile/profile.h"
#include "sample/sample_abi.h"
#include "symbolize/symbolize.h"

/* State for naming samples, one at a time. */
struct naming {
    struct symbolizer *symbolizer; /* borrowed */
    struct frame_table *frames;    /* borrowed: the table that the symbolizer fills */
    struct named_stack *stack;     /* owned, scratch: the sample that is being named */
    uint64_t unknown;              /* samples with a frame that has no name */
    uint64_t truncated[PROFILE_ENDS];
    uint64_t refused; /* frame_table_refused() of earlier tables */
};

/* A sample in delivery: named at most once in each way. */
struct incoming {
    struct naming *naming;
    const struct sample_record *rec;
    const uint64_t *frames;
    struct process *process;
    int named;      /* how naming->stack is named: -1 not yet, 0 without Java names, 1 with Java
                     * names, 2 with some that are decided later */
    bool counted;   /* counted in the counters of `naming` */
    bool may_wait;  /* the sample may wait for symbols that are being read */
    bool waits;     /* the sample waits for symbols; it is delivered again when they are read */
    uint16_t flags; /* PROFILE_SAMPLE_*; set once the sample is named */
    uint32_t thread_name; /* string of naming->frames; set once the sample is named */
};
/* Names the sample into naming->stack, with or without Java names. If in->waits is set then, the
 * sample waits for symbols, and callers must not take it yet. */
void incoming_name(struct incoming *in, bool java);
/* Does the same with Java names. @later decides some of these later. */
void incoming_name_later(struct incoming *in, const struct code_later *later);
/* Makes the profile's sample of a named @in; the caller sets its thread. */
void incoming_sample(const struct incoming *in, struct profile_sample *ret);
