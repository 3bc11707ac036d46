/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of monitors in a dump of threads. Some monitors know their owner by a word of the JVM
 * alone, which only the owner's own reading explains. That may come later. Thread: the owner's.
 */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/thread_dump.h"
#include "profile/thread_dump.h"

struct dump_owner {
    /* Of its stack: in JDK 8 to 22, a monitor that was a lock on a stack contains an address there.
     * high 0: unknown. */
    uint64_t low, high;
    uint64_t id; /* Thread.threadId(); 0: not read yet */
};

struct dump_owners {
    struct u64_cache by_word; /* JavaThread, or key of a monitor -> 1 + place in `all` */
    struct dump_owner *all;   /* owned */
    size_t count, room;
};

void dump_owners_init(struct dump_owners *o);
void dump_owners_deinit(struct dump_owners *o);
/* Adds a platform thread of the JVM's list. */
void dump_owners_list(struct dump_owners *o, const struct hotspot_thread *t);
/* Adds what @b contains. */
void dump_owners_take(struct dump_owners *o, const struct hotspot_dump_batch *b);
/* Sets the owners of @d that only their words are known of. */
void dump_owners_settle(const struct dump_owners *o, struct thread_dump *d);
