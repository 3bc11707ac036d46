/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weak references to sampled objects, a bounded table of them (STREAM_LIVE_MAX). The references
 * that count are in memory of the agent's own. So nobody else can name one to be deleted: flamed
 * cannot, and the file's other readers cannot. What flamed needs is written into the file besides.
 * A function of JNI may wait for a safepoint, or for a debugger that has suspended the thread. So
 * these are called without the lock of alloc.c, under which all else here runs unless it says so.
 */
#pragma once

#include "agent/jvmti_slots.h"
#include "agent/stream.h"

#define LIVE_GONE_MAX 9u /* references that one event takes out of the table, at most */
#define LIVE_NO_SLOT UINT32_MAX

struct live; /* memory of its own */

/* What an event does to the table. */
struct live_turn {
    uint32_t slot; /* taken for the event's object; LIVE_NO_SLOT: it is not followed */
    uint32_t id;
    uint64_t bytes;
    uint32_t interval;
    uint32_t gone_count;
    jni_ref gone[LIVE_GONE_MAX]; /* are in the table no more: the caller's to delete */
};

/* Makes an empty table, and clears the one of @h. NULL: no memory. */
struct live *live_begin(struct stream_header *h);
/* Takes out of the file all that @l has, before its references are deleted. */
void live_hide(const struct live *l, struct stream_header *h);
/* Deletes the references of @l, which nobody else has any more, and frees it. Without the lock.
 * @jni NULL: they stay. Accepts NULL. */
void live_end(struct live *l, const jni_env *jni);

/* Looks at a few of the table and takes out what is dead, or what chance takes where it is full.
 * Then decides by chance whether an object of @bytes, sampled every @interval, is followed. */
void live_look(struct live *l, struct stream_header *h, uint64_t bytes, uint32_t interval,
               struct live_turn *ret);
/* Puts @ref into the place that @t took, in the file, too. NULL: gives the place back. */
void live_put(struct live *l, struct stream_header *h, const struct live_turn *t, jni_ref ref);

/* Deletes what @t took out. Without the lock. */
void live_delete_gone(const struct live_turn *t, const jni_env *jni);
/* Makes a weak reference to @object; NULL: no memory, and no exception is pending. Without the
 * lock. */
jni_ref live_new_ref(const jni_env *jni, jni_ref object);
/* Deletes one. Without the lock. */
void live_delete_ref(const jni_env *jni, jni_ref ref);
