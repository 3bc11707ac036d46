/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that the samples of a record were taken in: distinct ones, with the name that each
 * had last. Ids and names are the target's: their number is bounded, and what found no room is
 * counted. Private to profile/. Thread: the record's.
 */
#pragma once

#include "profile/profile.h"

struct contexts;

/* 0 or -ENOMEM. */
int contexts_new(struct contexts **ret);
struct contexts *contexts_free(struct contexts *c);
size_t contexts_bytes(const struct contexts *c); /* NULL: 0 */

/* Adds @context of process @process of @service ("": none), whose operation is @name ("": not known
 * yet). context->operation is not looked at. If there is no room for ids, they are left out. *ret:
 * its id, from 1 on; 0: there is no room. 0 or -ENOMEM. */
int contexts_add(struct contexts *c, const struct profile_context *context, uint32_t process,
                 struct span service, struct span name, uint32_t *ret);
/* Puts them into @p, with strings of it; @c may be NULL. 0 or -ENOMEM. */
int contexts_finish(const struct contexts *c, struct profile *p);
/* Returns how many samples were left without ids, and without their operation's name. */
uint64_t contexts_without_ids(const struct contexts *c);
uint64_t contexts_without_name(const struct contexts *c);
