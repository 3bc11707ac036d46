/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A borrowed run of bytes: the input of every parser of foreign text. The span_take functions
 * advance the span only if they succeed, and never read past its end. Pure; thread: any.
 */
#pragma once

#include "base/macros.h"

struct span {
    const char *p;
    size_t n;
};

#define SPAN_NULL ((struct span){ 0 })
/* Makes a span of a string literal. */
#define SPAN(s) ((struct span){ (s), sizeof(s) - 1 })

/* Returns the text @s as a span. NULL gives an empty span. */
static inline struct span span_of(const char *s)
{
    return (struct span){ s, s ? strlen(s) : 0 };
}

/* Compare bytes; 'A' and 'a' differ. */
bool span_eq(struct span a, struct span b);
bool span_eq_str(struct span a, const char *b);
/* Compares byte by byte, as strcmp(). */
int span_compare(struct span a, struct span b);
bool span_starts_with(struct span s, const char *prefix);
bool span_ends_with(struct span s, const char *suffix);
/* Return the index of the first / last @c, or s.n if there is none. */
size_t span_find(struct span s, char c);
size_t span_rfind(struct span s, char c);
/* Returns the bytes from @from on; none if @from is past the end. */
struct span span_from(struct span s, size_t from);
/* Returns the part of @path behind its last slash; all of it if it has none. */
struct span span_base_name(struct span path);
/* Returns @s without blanks, tabs and line breaks at both ends. */
struct span span_trim(struct span s);

/* Take @c, or a text, from the front. Return true and advance *s, or return false and change
 * nothing. */
bool span_take_char(struct span *s, char c);
bool span_take_str(struct span *s, const char *literal);
/* Take digits as a 64-bit number. Return false on overflow or without a digit. */
bool span_take_dec(struct span *s, uint64_t *ret);
bool span_take_hex(struct span *s, uint64_t *ret); /* without 0x */
/* Returns the value of the hexadecimal digit @c, small or capital; -1: @c is no such digit. */
int hex_value(char c);
/* Returns whether @c is a letter of ASCII, a digit or '_'. */
static inline bool is_identifier_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
/* Skips blanks and tabs, then takes the bytes before the next blank or tab. Returns false if there
 * are none. */
bool span_take_word(struct span *s, struct span *ret);
void span_skip_blanks(struct span *s);
/* Takes the bytes before the next @sep and drops that @sep. Takes all bytes if there is no @sep.
 * Returns false if *s is empty. */
bool span_take_until(struct span *s, char sep, struct span *ret);
/* Does span_take_until() with '\n'. */
bool span_take_line(struct span *s, struct span *ret);
/* Gets the rest of the first line that begins with @prefix, or SPAN_NULL if no line does. */
struct span span_find_line(struct span lines, const char *prefix);

/* Takes the next range of a list such as "0-3,8". Returns 1, 0 if the list is empty, or -EBADMSG.
 * For a single number, @ret_last is the same as @ret_first. */
int span_take_range(struct span *s, uint64_t *ret_first, uint64_t *ret_last);

/* Reads the whole span as a decimal number. Returns false if it is none. */
bool span_parse_dec(struct span s, uint64_t *ret);
/* Copies into @buf as a C string, cut to its size; NULs inside become '?'. Returns @buf. */
char *span_copy(struct span s, char *buf, size_t size);
/* Returns a malloc'ed C string that the caller owns, or NULL if memory is short. */
char *span_dup(struct span s);

/* Take bytes and little endian numbers from the front. */
bool span_take_bytes(struct span *s, size_t n, struct span *ret);
bool span_take_u8(struct span *s, uint8_t *ret);
bool span_take_u16(struct span *s, uint16_t *ret);
bool span_take_u32(struct span *s, uint32_t *ret);
bool span_take_u64(struct span *s, uint64_t *ret);
