/* SPDX-License-Identifier: Apache-2.0 */
/* Makes small JSON values that several answers have. Returns new references, which the caller
 * owns. */
#pragma once

#include "base/macros.h"

#include <jansson.h>

/* Returns @realtime_ns as RFC 3339 with nanoseconds, UTC. */
json_t *json_time(uint64_t realtime_ns);
/* Returns @s; null for NULL and "". */
json_t *json_string_or_null(const char *s);
