/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a trigger pulls itself: "signal", "signal gc-pauses", or a measure and a number such as
 * "gc_share > 0.2 for 1m". Pure; thread: any.
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
    char signal[CONDITION_SIGNAL_BYTES]; /* its name; "": any of severity 2 and more */
    enum measure measure;
    bool below, equal; /* it holds below the number; and at it */
    double number;
    uint64_t hold_ns;                /* how long it has to hold */
    char text[CONDITION_TEXT_BYTES]; /* as it was written */
};

/* False: @text is none; then *ret is untouched. */
bool condition_parse(struct span text, struct condition *ret);
/* Returns whether a measure of @value meets it. NAN does not. */
bool condition_met(const struct condition *c, double value);
