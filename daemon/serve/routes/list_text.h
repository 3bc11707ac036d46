/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the API as tables for a terminal. Pure; thread: any. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

/* Append the answer of a route as a table: of /api/v1/jvms, /services and /signals. */
void list_text_jvms(const json_t *answer, struct buf *out);
void list_text_services(const json_t *answer, struct buf *out);
void list_text_signals(const json_t *answer, struct buf *out);
/* Appends that of /api/v1/changes: its sentences. */
void list_text_changes(const json_t *answer, struct buf *out);
