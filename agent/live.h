/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded table of weak references to sampled objects (STREAM_LIVE_MAX). The references are in
 * the agent's own memory, so that no writer of the file can make the agent delete a reference.
 * Copies for flamed are written to the file. A function of JNI may wait for a safepoint, or for a
 * debugger that has suspended the thread. So JNI is called without the lock of alloc.c; all other
 * functions here run with it unless their comment says otherwise.
 */
#pragma once

#include "agent/jvmti_slots.h"
#include "agent/stream.h"

#define LIVE_GONE_MAX 9u /* most references that one event removes */
#define LIVE_NO_SLOT UINT32_MAX

struct live; /* in the agent's own memory */

/* The changes of one event to the table. */
struct live_turn {
    uint32_t slot; /* reserved for the event's object; LIVE_NO_SLOT: it is not followed */
    uint32_t id;
    uint64_t bytes;
    uint32_t interval;
    uint32_t gone_count;
    jni_ref gone[LIVE_GONE_MAX]; /* references removed from the table; the caller deletes them */
};

/* Makes an empty table, and clears the table in the file @h. NULL: no memory. */
struct live *live_begin(struct stream_header *h);
/* Removes all entries of @l from the file, before its references are deleted. */
void live_hide(const struct live *l, struct stream_header *h);
/* Deletes the references of @l, which is detached, and frees it. Without the lock. @jni NULL: keeps
 * the references. Accepts NULL. */
void live_end(struct live *l, const jni_env *jni);

/* Checks a few places. Removes dead objects and, if the table is full, some objects at random. Then
 * decides at random whether an object of @bytes, sampled every @interval, is followed. */
void live_look(struct live *l, struct stream_header *h, uint64_t bytes, uint32_t interval,
               struct live_turn *ret);
/* Stores @ref in the place that @t reserved, and in the file. NULL: frees the place. */
void live_put(struct live *l, struct stream_header *h, const struct live_turn *t, jni_ref ref);

/* Deletes the references that @t removed. Without the lock. */
void live_delete_gone(const struct live_turn *t, const jni_env *jni);
/* Makes a weak reference to @object; NULL: no memory, and no exception is pending. Without the
 * lock. */
jni_ref live_new_ref(const jni_env *jni, jni_ref object);
/* Deletes @ref. Without the lock. */
void live_delete_ref(const jni_env *jni, jni_ref ref);
