/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of event nativelive: blocks of malloc that were not given back yet. Bounded: the BPF
 * program follows ALLOC_BLOCKS_MAX blocks, and so many are kept here. Thread: the engine's.
 */
#pragma once

#include "proc/proc.h"
#include "profile/profile.h"

#define NATIVE_LIVE_MAX 32768  /* samples that are kept */
#define NATIVE_LIVE_TAIL 10    /* of a capture, this share of its end is too young to tell a leak */
#define NATIVE_LIVE_EARLY 4096 /* ends that come before their samples, which wait for symbols */

struct native_live;

/* Why a block is not among those that stay. */
enum native_live_end {
    NATIVE_LIVE_FREED,
    NATIVE_LIVE_REPLACED, /* an exec replaced the program that had it */
    NATIVE_LIVE_CROWDED,  /* there was no room to follow it, */
    NATIVE_LIVE_LOST,     /* or nobody follows it any more: whether it stays is not known */
    NATIVE_LIVE_ENDS,
};

/* 0 or -ENOMEM. */
int native_live_new(struct native_live **ret);
/* Accepts NULL, returns NULL. */
struct native_live *native_live_free(struct native_live *l);
/* Keeps @s, of block number @block of process @id, whose stack is one of record_hold(). False:
 * there is no room, and it is lost. */
bool native_live_keep(struct native_live *l, uint32_t block, const struct proc_id *id,
                      const struct profile_sample *s);
/* Lets go of the sample of block number @block. @early: if it is not there, it may still come. */
void native_live_end(struct native_live *l, uint32_t block, enum native_live_end how, bool early);
/* Does that for all blocks of process @id that are kept. */
void native_live_end_process(struct native_live *l, const struct proc_id *id,
                             enum native_live_end how);
/* Loses all samples before @until_ns, also those that are still to come. */
void native_live_lose_all(struct native_live *l, uint64_t until_ns);
/* Counts a block of @bytes that is not kept. */
void native_live_count(struct native_live *l, uint64_t bytes, enum native_live_end how);

/* What was found. */
struct native_live_found {
    uint64_t live, young;             /* samples; young: taken at until_ns or later */
    uint64_t ended[NATIVE_LIVE_ENDS]; /* samples, by enum native_live_end */
    uint64_t bytes, missed_bytes;     /* asked for in all; of them those that nobody followed */
    uint64_t lost_ends;               /* for which there was no room */
};
typedef void (*native_live_fn)(void *cookie, const struct profile_sample *s);
/* Hands the samples before @until_ns that are left to @fn. A second call hands out nothing. */
void native_live_each(struct native_live *l, uint64_t until_ns, native_live_fn fn, void *cookie,
                      struct native_live_found *ret);
