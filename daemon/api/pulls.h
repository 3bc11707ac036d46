/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers that fire by themselves: each check compares the condition `on` with the signals and
 * measures of the JVMs. A trigger fires when its condition begins to hold for a JVM. It then
 * captures that JVM, and stores the minute before as another capture.
 */
#pragma once

#include "base/buf.h"

/* pairs of a trigger and a JVM with a condition that holds; further ones are counted */
#define PULLS_MAX 1024
#define PULLS_AT_ONCE 8 /* triggers that fire in one check; others fire in the next */
/* seconds between two checks, the same as between two readings of the numbers */
#define PULLS_LOOK_S 10
#define PULLS_BEFORE_NS (60 * NSEC_PER_SEC)

struct api;
struct pulls;

/* Makes *ret. 0 or -ENOMEM. */
int pulls_new(struct api *api, struct pulls **ret);
/* Frees @s; accepts NULL. Returns NULL. */
struct pulls *pulls_free(struct pulls *s);
/* Checks all triggers and fires those that are due. Thread: one at a time, not the engine's, as it
 * asks the engine. Blocks until the captures have begun. */
void pulls_look(struct pulls *s);
/* Appends the metrics of triggers. @s may be NULL. Thread: any. */
void pulls_metrics(struct pulls *s, struct buf *out);
