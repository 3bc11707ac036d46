/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of one capture as a blob, by columns: processes, threads, then times, threads,
 * stacks, counts and flags of the samples. Captures with several events or with values also have
 * event and value. Moments of JVMs come last, if there are any. Names and stacks are ids of the
 * capture's dictionary. Times are CLOCK_REALTIME. Pure except for the dictionary; thread: the
 * store's lock holder.
 */
#pragma once

#include "store/dictionary.h"

/* Adds the names and stacks of @p to @e, and appends its samples to @out (not compressed). Returns
 * 0, -ENOSPC (the dictionary is full) or -ENOMEM. */
int samples_encode(struct dictionary *e, const struct profile *p, struct buf *out);
/* Makes a finished profile with the facts of *meta. Return: 0; -EBADMSG: damaged; -ENOMEM. */
int samples_decode(const struct dictionary *e, struct span blob, const struct profile *meta,
                   struct profile **ret);
