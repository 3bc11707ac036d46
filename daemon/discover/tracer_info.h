/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts that Datadog's tracer publishes about its process: one map of msgpack. The process,
 * which may be hostile, writes it. A map with any error yields nothing. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"

#define TRACER_INFO_BYTES_MAX ((size_t)16 << 10)
#define TRACER_INFO_VALUES_MAX 1024      /* values of a map, with keys and nested values */
#define TRACER_INFO_VALUE_BYTES_MAX 1024 /* bytes of a value; longer values are ignored */

/* Appends the values that name a service, as process_context_attributes() does. Return: 0;
 * -EBADMSG, -E2BIG: nothing was appended. */
int tracer_info_attributes(struct span info, struct buf *out);
