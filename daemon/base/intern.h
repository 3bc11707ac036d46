/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned byte strings: equal bytes get the same 32-bit id, id 0 is the empty string. Strings are
 * never removed; only the whole table is freed. Thread: the owner's; others may read while no
 * thread adds.
 */
#pragma once

#include "base/span.h"

/* The most bytes that one string of a large table takes in addition to its own, with its share of
 * spare memory. */
#define INTERN_EXTRA_BYTES 40

struct intern;

/* Makes an empty table. @max_bytes limits the bytes of all strings. Returns 0 or -ENOMEM. */
int intern_new(size_t max_bytes, struct intern **ret);
struct intern *intern_free(struct intern *t);

/* Gets the id of @s. Returns 0, -ENOSPC (ceiling; @ret untouched) or -ENOMEM. */
int intern_add(struct intern *t, struct span s, uint32_t *ret);
/* Finds the id of @s. Returns false if it is not in the table. */
bool intern_find(const struct intern *t, struct span s, uint32_t *ret);
/* Returns the string, which is valid for the life of @t and has a NUL behind it. An unknown id
 * gives the empty span. */
struct span intern_get(const struct intern *t, uint32_t id);
uint32_t intern_count(const struct intern *t);
size_t intern_bytes(const struct intern *t);
