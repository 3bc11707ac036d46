/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the service's name in the environment of a process, and drops all else. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"

#define SERVICE_WORD_MAX 2048 /* bytes of KEY=VALUE; a longer entry is dropped */

/* Appends the entries of @environ (separated by NUL) that name a service, each with a NUL behind
 * it. These are OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, DD_SERVICE, DD_ENV, DD_VERSION,
 * DD_GIT_REPOSITORY_URL and DD_GIT_COMMIT_SHA.
 * From JAVA_TOOL_OPTIONS and JDK_JAVA_OPTIONS it appends only the options -Dotel.service.name=,
 * -Dotel.resource.attributes=, -Ddd.service=, -Ddd.env= and -Ddd.version=. */
void service_words_find(struct span environ, struct buf *out);
