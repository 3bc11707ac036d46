/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the query string of a request into names and values. Strict: a broken %-escape, a NUL or
 * invalid UTF-8 is an error. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

#define QUERY_ITEMS_MAX 64

struct query_item {
    struct span name, value; /* decoded, valid UTF-8 without NUL, and NUL-terminated */
    bool has_value;          /* has a '=' */
    bool truth;              /* in a JSON body: true or false, stored as 1 or 0 */
};

struct query {
    char *text; /* owned; the items point into it */
    struct query_item items[QUERY_ITEMS_MAX];
    size_t count;
};

/* Splits and decodes @raw, the part after '?'. '+' decodes to a space, as in forms. Skips empty
 * items ("a=1&&b=2"). Return: 0; -EINVAL or -E2BIG with @err; -ENOMEM. *ret is written only on
 * success. */
int query_parse(struct span raw, struct query *ret, struct error *err);
void query_deinit(struct query *q);

/* Decodes the %-escapes of a path into a string that the caller owns. Returns as query_parse(). */
int query_decode_path(struct span raw, char **ret, struct error *err);

#define QUERY_SHOW_MAX 72

/* Writes an untrusted value for display in a sentence: cleaned, cut to 64 bytes. Returns @buf. */
const char *query_show(struct span value, char buf[QUERY_SHOW_MAX]);
