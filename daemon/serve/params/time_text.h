/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses points in time: "now", "-5m" before now, RFC 3339, or local time of this node without an
 * offset ("2026-01-02T03:04", "03:04"). Strict: the whole text must match. Thread: any.
 */
#pragma once

#include "request/backend.h"

/* Parses @text. @now_ns and *ret_ns: CLOCK_REALTIME. Years are 1970 to 2261, the range of
 * nanoseconds in 63 bits. A leap second becomes the second after it. A time of day is the latest
 * one before @now_ns. A blank counts as the '+' of an offset, because query_parse() decodes '+' to
 * a blank. False if @text is no such time. */
bool time_parse(struct span text, uint64_t now_ns, uint64_t *ret_ns);

/* Parses "from..to" or "from/to" of the past; without "to" the range ends @now. */
bool range_parse(struct span text, uint64_t now, struct time_range *ret);
