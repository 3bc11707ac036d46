/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of a service in lists, a JSON object, which its present and its past JVMs fill. */
#pragma once

#include "api/json.h"

#include <stdbool.h>

/* Appends @text to the list @key of @entry, unless it is empty or in the list, or the list is
 * full. */
void service_add_text(json_t *entry, const char *key, const char *text);
/* Sets the time @key of @entry if there is none, or if @time_ns is earlier (else: later). */
void service_keep_time(json_t *entry, const char *key, uint64_t time_ns, bool earlier);
