/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of monitors in a dump of threads. Some monitors name their owner only by a word of the
 * JVM. Which thread that is becomes known when the owner itself is read, maybe later. Thread: the
 * owner's.
 */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/thread_dump.h"
#include "profile/thread_dump.h"

struct dump_owner {
    /* Bounds of its stack; high 0: unknown. In JDK 8 to 22, a monitor that was inflated from a
     * stack lock contains an address in the owner's stack. */
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
/* Sets the owners in @d for which only a word is known. */
void dump_owners_settle(const struct dump_owners *o, struct thread_dump *d);
