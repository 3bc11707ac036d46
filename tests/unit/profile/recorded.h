/* SPDX-License-Identifier: Apache-2.0 */
/* A record of process 42, "Main", with two threads, "main" and "other". */
#pragma once

#include "base/buf.h"
#include "profile/category.h"
#include "profile/view.h"

extern struct frame_table *table;
extern struct record *rec;
extern uint32_t main_thread, other_thread;

/* recorded_setup() makes the record for a test, recorded_teardown() frees it. */
void recorded_setup(void);
void recorded_teardown(void);
/* Does the same as recorded_setup(), with room for @entries of the frame table and @samples. */
void recorded_setup_for(size_t entries, size_t samples);
/* Return the id of a string in the table, and of the frame of a method with that name. */
uint32_t recorded_string(const char *s);
uint32_t recorded_frame(const char *class_name, const char *name, enum frame_kind kind,
                        uint32_t line);
/* Adds @n samples of the main thread with @stack, innermost first. */
void recorded_sample(const uint32_t *stack, size_t depth, uint32_t n, enum category category);
/* Adds the rows of a view of @p to @out, "name;name N\n" each. Returns the text. */
char *recorded_rows(struct profile *p, const struct view_opts *o, struct buf *out);
