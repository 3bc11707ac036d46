/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in time as a request says them: "now", "-5m" before now, RFC 3339, or local to this node
 * without an offset ("2026-01-02T03:04", "03:04"). Strict: the whole text, or nothing. Thread: any.
 */
#pragma once

#include "request/backend.h"

/* @now_ns and *ret_ns: CLOCK_REALTIME. The year is from 1970 to 2261, which is as far as
 * nanoseconds in 63 bits go; of a leap second, the second after it. A time of the day is the last
 * one before @now_ns. A blank stands for the '+' of an offset: that is what a query makes of it.
 * False when @text is no such time. */
bool time_parse(struct span text, uint64_t now_ns, uint64_t *ret_ns);

/* Parses "from..to" or "from/to" of the past; without a to: until @now. */
bool range_parse(struct span text, uint64_t now, struct time_range *ret);
