/* SPDX-License-Identifier: Apache-2.0 */
/* Durations in Prometheus' form: 500ms, 30s, 1m30s, 2h, 7d. Pure; thread: any. */
#pragma once

#include "base/span.h"

#define DURATION_FORM "a duration such as 30s, 1m30s, 2h or 7d"
#define DURATION_TEXT_BYTES 64

/* Parses one or more pairs of number and unit (w, d, h, m, s, ms), larger units first, each at most
 * once. Returns false if @text is malformed or means more than 100 years; then *ret_ns is
 * untouched. */
bool duration_parse(struct span text, uint64_t *ret_ns);
/* Formats @ns in that form, truncated to milliseconds; 0 is "0s". Returns @buf. */
char *duration_text(uint64_t ns, char buf[DURATION_TEXT_BYTES]);
