/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions on frames' names (PCRE2, no JIT), bounded in time: a pattern that explodes is
 * an error with a sentence, never a hung daemon. Immutable once made; thread: any, one match at a
 * time each.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"

#define MATCH_PATTERNS_MAX 16
#define MATCH_PATTERN_BYTES_MAX 1024

struct match;

/* Compiles @count patterns (NUL-terminated UTF-8). @parameter: the name that errors carry, a
 * literal. 0, -EINVAL with @err, -ENOMEM. */
int match_new(const char *const *patterns, size_t count, const char *parameter, struct match **ret,
              struct error *err);
struct match *match_free(struct match *m);
CLEANUP_FUNCTION(match_freep, match, match_free)
size_t match_count(const struct match *m);

/* Starts the budget: from now on, all names together may take 2 s of CPU time. @m may be NULL. */
void match_begin(struct match *m);

/* Starts another budget, for a client's pattern that the engine uses for hours. From now on, all
 * names that take many steps may take some 50 ms of CPU time. */
void match_begin_long(struct match *m);
/* Returns whether they did, so that @m matches nothing any more. */
bool match_is_spent(const struct match *m);

/* Checks whether any pattern matches somewhere in @text (valid UTF-8). 1, 0, or -EINVAL with @err
 * when this name takes too long (some 60 ms), or all since match_begin(). */
int match_any(struct match *m, struct span text, struct error *err);
