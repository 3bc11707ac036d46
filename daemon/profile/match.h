/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions on frames' names (PCRE2, no JIT), bounded in time: a pattern that explodes is
 * an error with a sentence, never a hung daemon. Immutable once made; thread: any, one at a time
 * for a struct.
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

/* Begins the use of @m by match_name() alone. */
void match_begin_long(struct match *m);
/* Does the same as match_any(), for a client's pattern that the engine uses for hours, within some
 * 0.5 ms. A name that takes longer does not match, and is not tried again. @owner (match_owner())
 * has a share of MATCH_OWNER_SLOW_NAMES_MAX slow names. Once it is spent, a further name of this
 * owner has to match within some 50 us. After MATCH_SLOW_NAMES_MAX in all, the pattern is spent:
 * each name has to. */
#define MATCH_SLOW_NAMES_MAX 64
#define MATCH_OWNER_SLOW_NAMES_MAX 4
int match_name(struct match *m, struct span owner, struct span name);
/* Returns what tells the owner of a name apart: *@payer (process_payer()), or, if that is 0, the id
 * of its container. It is valid as long as both. */
struct span match_owner(const uint64_t *payer, const char *container_id);
/* Returns how many names took too long for match_name(). @m may be NULL. */
size_t match_slow_names(const struct match *m);
/* Returns whether the share of an owner is spent. @m may be NULL. */
bool match_share_is_spent(const struct match *m);
/* Refuses a list that may be incomplete because @m, which may be NULL, is spent. Returns 0, or
 * -EINVAL with @err. */
int match_refuse_spent(const struct match *m, struct error *err);
/* Returns how many shares of owners in patterns were spent since the start. */
uint64_t match_spent_total(void);

/* Checks whether any pattern matches somewhere in @text (valid UTF-8). Returns 1, 0, or -EINVAL
 * with @err if this name takes too long (some 60 ms), or all names since match_begin() do. */
int match_any(struct match *m, struct span text, struct error *err);
