/* SPDX-License-Identifier: Apache-2.0 */
/* Small JSON values that several answers hold. New references owned by the caller. */
#pragma once

#include "base/macros.h"

#include <jansson.h>

/* RFC 3339 with nanoseconds, UTC, of CLOCK_REALTIME nanoseconds. */
json_t *json_time(uint64_t realtime_ns);
/* null for NULL and "". */
json_t *json_string_or_null(const char *s);
