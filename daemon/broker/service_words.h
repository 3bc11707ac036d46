/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment of a process says of its service, and nothing else of it. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"

#define SERVICE_WORD_MAX 2048 /* bytes of KEY=VALUE; a longer one is dropped */

/* Appends the words of @environ (separated by NUL) that name a service, each with a NUL behind it:
 * OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, DD_SERVICE, DD_ENV, DD_VERSION. Of
 * JAVA_TOOL_OPTIONS and JDK_JAVA_OPTIONS it appends the options -Dotel.service.name=,
 * -Dotel.resource.attributes=, -Ddd.service=, -Ddd.env= and -Ddd.version= alone. */
void service_words_find(struct span environ, struct buf *out);
