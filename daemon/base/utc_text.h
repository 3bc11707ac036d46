/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the wall clock as text: RFC 3339, UTC. Thread: any. */
#pragma once

#include <stdint.h>

#define UTC_TEXT_BYTES 40

/* Write @realtime_ns as "2026-01-31T23:59:00Z", or the same with nanoseconds. Return @ret. */
const char *utc_text(uint64_t realtime_ns, char ret[UTC_TEXT_BYTES]);
const char *utc_text_ns(uint64_t realtime_ns, char ret[UTC_TEXT_BYTES]);
