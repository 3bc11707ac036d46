/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers that fire by themselves: each check compares the condition `on` with the signals and
 * measures of the JVMs. A trigger fires when its condition begins to hold for a JVM. It then
 * captures that JVM, and stores the minute before as another capture.
 */
#pragma once

#include "base/buf.h"

#define PULLS_MAX 1024  /* pairs of a trigger and a JVM that hold now; further ones are counted */
#define PULLS_AT_ONCE 8 /* that fire in one check; others fire in the next */
#define PULLS_LOOK_S 10 /* between two checks, as between two readings of numbers */
#define PULLS_BEFORE_NS (60 * NSEC_PER_SEC)

struct api;
struct pulls;

/* Makes *ret. 0 or -ENOMEM. */
int pulls_new(struct api *api, struct pulls **ret);
/* Frees @s; accepts NULL. Returns NULL. */
struct pulls *pulls_free(struct pulls *s);
/* Checks all triggers and fires those that are due. Thread: one at a time, not the engine's, which
 * it asks. Blocks until their captures have begun. */
void pulls_look(struct pulls *s);
/* Appends the metrics of triggers. @s may be NULL. Thread: any. */
void pulls_metrics(struct pulls *s, struct buf *out);
