/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a trigger fires by itself: "signal", "signal gc-pauses", or a comparison such as "gc_share >
 * 0.2 for 1m". Pure; thread: any.
 */
#pragma once

#include "base/span.h"
#include "event/measures.h"

#define CONDITION_SIGNAL_BYTES 24
#define CONDITION_TEXT_BYTES 80
#define CONDITION_FORM                                                                             \
    "signal, signal NAME, or a measure (cpu, throttled, gc_share, ttsp, lock_wait, alloc_rate, "   \
    "rss_share), >, >=, < or <=, and a number; then perhaps for and a duration"

enum condition_kind { CONDITION_NONE, CONDITION_SIGNAL, CONDITION_MEASURE };

struct condition {
    enum condition_kind kind;
    char signal[CONDITION_SIGNAL_BYTES]; /* name of the signal; "": any signal of severity 2 or
                                          * higher */
    enum measure measure;
    bool below, equal; /* the comparison is <, not >; the comparison includes equality */
    double number;
    uint64_t hold_ns;                /* the condition must hold for this time before the trigger
                                      * fires */
    char text[CONDITION_TEXT_BYTES]; /* the text of the configuration */
};

/* Parses @text. Returns false if @text is malformed; then *ret is untouched. */
bool condition_parse(struct span text, struct condition *ret);
/* Returns whether the measured @value meets the condition. NAN never meets it. */
bool condition_met(const struct condition *c, double value);
