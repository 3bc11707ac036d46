/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of one reading of a lock (unwind/lock_steps.h). */
#pragma once

#include "unwind/forwarding.h"

struct lock_walk {
    uint64_t class_word; /* 0: unreadable, or objects moved */
    uint64_t owner;
    uint64_t object, entry; /* of the reference that is being followed */
    uint64_t bad;           /* ZGC's bad mask */
    uint64_t view;          /* the heap's lowest view (unwind_view()); 0: it has no views */
    struct unwind_forwarding forwarding;
    uint32_t kind;  /* enum unwind_lock. UNREAD: objects moved, or one was unreadable */
    uint32_t fault; /* 1: an object was unreadable */
    uint32_t torn;  /* 1: objects may have moved during the walk */
    uint32_t zero;
};
