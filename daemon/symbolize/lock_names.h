/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names what the threads of one JVM wait for: the class of a lock, the way of waiting, and the
 * thread that owns the lock. Thread: the engine's.
 */
#pragma once

#include "hotspot/hotspot.h"
#include "profile/frame.h"
#include "sample/sample_abi.h"

#define LOCK_CLASSES_MAX (1u << 14)      /* of one JVM; when full, all are read again */
#define LOCK_CLASS_TRUST_NS NSEC_PER_SEC /* time before a class is read again */
/* shortest time between two readings of the VM's list */
#define LOCK_OWNERS_MIN_NS (50 * NSEC_PER_MSEC)
#define LOCK_OWNERS_TRUST_NS NSEC_PER_SEC /* time before an owner's name is read again */
#define LOCK_OWNERS_STRANGE_S 10          /* before the list is read for a missing owner */

struct lock_names;

/* Makes the names of one JVM. Borrows @frames. Returns 0 or -ENOMEM. */
int lock_names_new(struct frame_table *frames, struct lock_names **ret);
struct lock_names *lock_names_free(struct lock_names *n);

/* Frames of a lock. The owner's frame has the kind FRAME_THREAD; 0: unknown. */
struct lock_frames {
    uint32_t owner, class_frame, kind;
};
/* Names what @rec, the sample of a thread that waited for a lock, waited for. @vm is NULL after the
 * VM's end; the class is then unknown, as if it could not be read. */
void lock_names_get(struct lock_names *n, struct hotspot_vm *vm, const struct sample_record *rec,
                    uint64_t now_ns, struct lock_frames *ret);
