/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Datadog's tracer says of its process: one map of msgpack. It is the process's, which may be
 * hostile: one with anything broken in it says nothing. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"

#define TRACER_INFO_BYTES_MAX ((size_t)16 << 10)
#define TRACER_INFO_VALUES_MAX 1024      /* keys and all that is nested included */
#define TRACER_INFO_VALUE_BYTES_MAX 1024 /* bytes of one that is taken; a longer one is not */

/* Appends what names a service, as process_context_attributes() does. 0; -EBADMSG, -E2BIG: nothing
 * was appended. */
int tracer_info_attributes(struct span info, struct buf *out);
