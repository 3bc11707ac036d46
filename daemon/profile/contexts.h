/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distinct requests of the samples of a record, each with its latest name. Ids and names come
 * from the target, so their number is bounded. Samples without room are counted. Private to
 * profile/. Thread: the record's.
 */
#pragma once

#include "profile/profile.h"

struct contexts;

/* 0 or -ENOMEM. */
int contexts_new(struct contexts **ret);
struct contexts *contexts_free(struct contexts *c);
size_t contexts_bytes(const struct contexts *c); /* NULL: 0 */

/* Adds @context of process @process of @service ("": none). @name: its operation, "": not known
 * yet; context->operation is ignored. A request counts under the name with the highest @time_ns. If
 * there is no room for ids, stores the context without ids. *ret: the id, from 1 on; 0: no room. 0
 * or -ENOMEM. */
int contexts_add(struct contexts *c, const struct profile_context *context, uint32_t process,
                 struct span service, struct span name, uint64_t time_ns, uint32_t *ret);
/* Copies the contexts and their strings to @p; @c may be NULL. 0 or -ENOMEM. */
int contexts_finish(const struct contexts *c, struct profile *p);
/* Return the number of samples without ids, and without an operation's name, for lack of room. */
uint64_t contexts_without_ids(const struct contexts *c);
uint64_t contexts_without_name(const struct contexts *c);
