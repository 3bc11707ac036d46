/* SPDX-License-Identifier: Apache-2.0 */
/* What programs that make profiles up share. An error ends the program with a line that says which.
 */
#pragma once

#include "profile/profile.h"

void must(int r);
/* @n bytes as names come into a table: cleaned, and cut to TEXT_NAME_MAX. */
uint32_t making_string(struct frame_table *table, const char *s, size_t n);
/* "j" compiled by C2, "1" by C1, "i" inlined, "0" interpreted, "n" native, "v" the JVM, "s" stub,
 * "k" kernel; else unknown. */
enum frame_kind making_kind(char letter);
/* Below @n, always the same row of numbers from the same @seed. */
uint32_t making_random(uint32_t *seed, uint32_t n);
