/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lists of the API as tables for a terminal. Pure; thread: any. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* Append the answer of /api/v1/jvms (the busiest first), /services or /signals as a table. */
void list_text_jvms(const json_t *answer, struct buf *out);
void list_text_services(const json_t *answer, struct buf *out);
void list_text_signals(const json_t *answer, struct buf *out);
/* Appends the sentences of an answer of /api/v1/changes. */
void list_text_changes(const json_t *answer, struct buf *out);
