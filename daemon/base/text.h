/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cleaning of foreign text for display. Names of classes, methods, threads, processes and symbols
 * are cleaned once, where flamed reads them; each output still escapes for its own syntax. Pure;
 * thread: any.
 */
#pragma once

#include "base/buf.h"

#define TEXT_NAME_MAX 2048 /* bytes of one name after cleaning; longer ones end in "..." */

enum text_encoding {
    TEXT_UTF8,
    TEXT_MODIFIED_UTF8, /* the JVM's: NUL as C0 80, astral characters as two surrogates of 3 bytes
                         */
};

/* Appends @in to @out as valid UTF-8 of at most @max_bytes. These become U+FFFD each: C0, C1 and
 * DEL, noncharacters, lone surrogates and broken sequences. So do bidi controls (U+200E, 200F,
 * 202A..202E, 2066..2069, 061C), line and paragraph separators (U+2028, 2029). Cut text ends in
 * "...", never inside a character. */
void text_clean(struct span in, enum text_encoding encoding, size_t max_bytes, struct buf *out);

/* Copies @in, cleaned as UTF-8, into @field of @size bytes, including a NUL. Returns @field. */
char *text_clean_into(struct span in, char *field, size_t size);

/* Cleans @text as UTF-8 and frees it. Returns owned; NULL: @text is NULL, or no memory. */
char *text_clean_owned(char *text);

/* Appends @n units of UTF-16 (of Latin-1 unless @wide) at @p, in the JVM's modified UTF-8. */
void text_add_utf16(struct buf *out, const uint8_t *p, size_t n, bool wide);

/* Returns true for well-formed UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF. */
bool text_is_utf8(struct span s);

#define TEXT_DISTANCE_MAX 64 /* at most this many bytes of each text are compared */
/* Returns the edit distance of the beginnings of both: how many bytes have to be inserted, removed,
 * changed or swapped with their neighbour. ASCII letters count the same in either case. */
unsigned text_distance(struct span a, struct span b);

/* Appends @s (valid UTF-8) as the inside of a JSON string; '<' becomes \u003c, so that the text is
 * safe in a <script> element. */
void text_add_json(struct buf *out, struct span s);
/* Appends @s for HTML or XML text and attribute values (& < > " '). */
void text_add_html(struct buf *out, struct span s);
