/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's tracepoints, as tracefs lists them. Thread: any. */
#pragma once

#include "base/error.h"
#include "base/span.h"

/* Finds the number of the tracepoint @name of @group; both are words that event_form_parse() took.
 * Return: 0. -ENOENT: there is none, or tracefs is not mounted. -errno. With @err. */
int tracepoint_id(struct span group, struct span name, uint64_t *ret_id, struct error *err);
