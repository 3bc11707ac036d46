/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a JSON body into names and values, so that the same strict rules parse parameters of a
 * query and of a body. Pure; thread: any.
 */
#pragma once

#include "serve/params/query.h"

#include <jansson.h>

#define BODY_MAX_BYTES (64 * 1024)
/* A refused body is read up to this size, so that a client that is still sending gets the
 * answer. */
#define BODY_DRAIN_MAX_BYTES (8 * 1024 * 1024)

/* Parses @text, one JSON object. Strings, numbers and booleans (1 and 0) become values. A list of
 * numbers becomes "1,2". So does a list of strings if the parameter takes a list; else each string
 * becomes an item. An empty body is an empty object. Return: 0; -EINVAL or -E2BIG with @err;
 * -ENOMEM. *ret is written only on success and needs query_deinit(). */
int body_parse(struct span text, struct query *ret, struct error *err);
/* Does the same for a parsed object. */
int body_of_object(const json_t *object, struct query *ret, struct error *err);
