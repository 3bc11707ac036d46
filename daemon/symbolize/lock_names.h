/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names what the threads of one JVM wait for: the class of a lock, the way of waiting, and the
 * thread that owns the lock. Thread: the engine's.
 */
#pragma once

#include "hotspot/hotspot.h"
#include "profile/frame.h"
#include "sample/sample_abi.h"

#define LOCK_CLASSES_MAX (1u << 14)      /* of one JVM; when full, all is read again */
#define LOCK_CLASS_TRUST_NS NSEC_PER_SEC /* how long a class is not read again */
/* shortest time between two readings of the VM's list */
#define LOCK_OWNERS_MIN_NS (50 * NSEC_PER_MSEC)
#define LOCK_OWNERS_TRUST_NS NSEC_PER_SEC /* how long an owner's name is not read again */
#define LOCK_OWNERS_STRANGE_S 10 /* how long the list is not read for an owner that it lacked */

struct lock_names;

/* Borrows @frames. 0 or -ENOMEM. */
int lock_names_new(struct frame_table *frames, struct lock_names **ret);
struct lock_names *lock_names_free(struct lock_names *n);

/* Frames; owner 0: not known, else of kind FRAME_THREAD. */
struct lock_frames {
    uint32_t owner, class_frame, kind;
};
/* Names what @rec, which has a lock, waited for. @vm NULL: gone; the class is then unknown, as one
 * that cannot be read. */
void lock_names_get(struct lock_names *n, struct hotspot_vm *vm, const struct sample_record *rec,
                    uint64_t now_ns, struct lock_frames *ret);
