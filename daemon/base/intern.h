/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned byte strings: equal bytes get the same 32-bit id, id 0 is the empty string. Strings are
 * never removed; the table is freed whole. Thread: the owner's; others may read while no thread
 * adds.
 */
#pragma once

#include "base/span.h"

/* The most that each string of a large table takes besides its bytes, with room to grow. */
#define INTERN_EXTRA_BYTES 40

struct intern;

/* @max_bytes bounds the bytes of all strings. 0 or -ENOMEM. */
int intern_new(size_t max_bytes, struct intern **ret);
struct intern *intern_free(struct intern *t);

/* Gets the id of @s. 0, -ENOSPC (ceiling; @ret untouched) or -ENOMEM. */
int intern_add(struct intern *t, struct span s, uint32_t *ret);
/* Finds the id of @s. Returns false if it is not in the table. */
bool intern_find(const struct intern *t, struct span s, uint32_t *ret);
/* Points into @t; a NUL follows. An unknown id gives the empty span. Valid for the life of @t. */
struct span intern_get(const struct intern *t, uint32_t id);
uint32_t intern_count(const struct intern *t);
size_t intern_bytes(const struct intern *t);
