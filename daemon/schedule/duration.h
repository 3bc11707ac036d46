/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as Prometheus writes them: 500ms, 30s, 1m30s, 2h, 7d. Pure; thread: any. */
#pragma once

#include "base/span.h"

#define DURATION_FORM "a duration such as 30s, 1m30s, 2h or 7d"
#define DURATION_TEXT_BYTES 64

/* One or more of a number and a unit (w, d, h, m, s, ms), the larger units first, each at most
 * once. False: something else, or over 100 years; then *ret_ns is untouched. */
bool duration_parse(struct span text, uint64_t *ret_ns);
/* Writes the same form; @ns is cut to milliseconds, 0 is "0s". Returns @buf. */
char *duration_text(uint64_t ns, char buf[DURATION_TEXT_BYTES]);
