/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wishes of sets for samples of unmounted virtual threads, by JVM. Events of waiting renew their
 * wishes at each reconciliation. Pure; thread: the owner's.
 */
#pragma once

#include "base/places.h"
#include "proc/proc.h"

#define VIRTUAL_JVMS_MAX 32
#define VIRTUAL_LOOK_NS NSEC_PER_SEC          /* longest time that a look stands for in a capture */
#define VIRTUAL_WISH_NS (500 * NSEC_PER_MSEC) /* lifetime of a wish that is not renewed */

struct virtual_wish {
    struct proc_id id;
    uint64_t owner;     /* proc_owner() */
    uint32_t sets;      /* bits: sets that want all waits */
    uint32_t lock_sets; /* bits: sets that want only waits for locks */
    uint64_t wished_ns; /* CLOCK_MONOTONIC of the last renewal */
    bool untracked;     /* the last look found that the JVM does not list all its virtual threads */
    /* Set by the owner's looks: */
    uint64_t looked_ns, due_ns; /* CLOCK_MONOTONIC; 0: never */
    double threads, lockers;    /* of the last look: threads that waited; for a lock */
    uint32_t draws, bad;        /* draws of the next look; discarded looks in a row */
    /* Sums over the looks since virtual_wishes_load(). */
    uint32_t looks;
    double runnable, mounted; /* threads that could run: without a carrier; with a carrier */
};

struct virtual_wishes {
    struct virtual_wish of[VIRTUAL_JVMS_MAX];
    uint32_t count;
    struct places places; /* owners' shares of `of` */
};

/* Renews the wish of set @set for the unmounted threads of JVM @id of @owner, or (@locks) only for
 * threads that wait for a lock. Returns the wish, which is valid until the next call. NULL: there
 * is no room. */
const struct virtual_wish *virtual_wishes_add(struct virtual_wishes *w, const struct proc_id *id,
                                              uint64_t owner, uint32_t set, bool locks,
                                              uint64_t now_ns);
/* Gets the mean numbers of virtual threads of JVM @id that could run: without a carrier, and with
 * one. The mean is over the looks since the last call. NAN: not known. */
void virtual_wishes_load(struct virtual_wishes *w, const struct proc_id *id, double *ret_runnable,
                         double *ret_mounted);
/* Drops wishes that were not renewed in the last VIRTUAL_WISH_NS of the renewals up to
 * @renewed_ns. */
void virtual_wishes_age(struct virtual_wishes *w, uint64_t renewed_ns);
