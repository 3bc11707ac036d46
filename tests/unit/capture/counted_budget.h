/* SPDX-License-Identifier: Apache-2.0 */
/* A memory budget of records that makes no room, and counts how often it is exhausted. */
#pragma once

#include "profile/profile.h"

static void count_exhausted(void *cookie)
{
    ++*(unsigned *)cookie;
}

static void make_no_room(void *cookie, const struct record *r, size_t bytes)
{
    (void)cookie;
    (void)r;
    (void)bytes;
}

/* Returns a budget that counts in *@times, which must outlive it. */
static struct record_budget counted_budget(unsigned *times)
{
    return (struct record_budget){ .make_room = make_no_room,
                                   .exhausted = count_exhausted,
                                   .cookie = times };
}
