/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query string of a request as names and values, strictly: a broken %-escape, a NUL or broken
 * UTF-8 is an error, never guessed at. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

#define QUERY_ITEMS_MAX 64

struct query_item {
    struct span name, value; /* decoded, valid UTF-8 without NUL; a NUL follows each */
    bool has_value;          /* there was a '=' */
    bool truth;              /* of a body: JSON's true or false, as 1 or 0 */
};

struct query {
    char *text; /* owned: what the items point into */
    struct query_item items[QUERY_ITEMS_MAX];
    size_t count;
};

/* Splits and decodes @raw, the part after '?'. '+' is a space, as forms write it. Empty items
 * ("a=1&&b=2") are skipped. 0; -EINVAL or -E2BIG with @err; -ENOMEM. *ret is written only on
 * success. */
int query_parse(struct span raw, struct query *ret, struct error *err);
void query_deinit(struct query *q);

/* Decodes the %-escapes of a path into a string that the caller owns. Results as query_parse(). */
int query_decode_path(struct span raw, char **ret, struct error *err);

#define QUERY_SHOW_MAX 72

/* Writes a foreign value as a sentence can show it: clean, cut to 64 bytes. Returns @buf. */
const char *query_show(struct span value, char buf[QUERY_SHOW_MAX]);
