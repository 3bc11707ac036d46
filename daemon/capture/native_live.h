/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of event nativelive: blocks of malloc that are not freed yet. Bounded: the BPF
 * program follows ALLOC_BLOCKS_MAX blocks, and NATIVE_LIVE_MAX samples are kept. Thread: the
 * engine's.
 */
#pragma once

#include "proc/proc.h"
#include "profile/profile.h"

#define NATIVE_LIVE_MAX 32768  /* samples that are kept */
#define NATIVE_LIVE_TAIL 10    /* the last 1/10 of a capture is too young to show a leak */
#define NATIVE_LIVE_EARLY 4096 /* frees that come before their samples, which wait for symbols */

struct native_live;

/* Why a block is not among the blocks that stay. */
enum native_live_end {
    NATIVE_LIVE_FREED,
    NATIVE_LIVE_REPLACED, /* an exec replaced its program */
    NATIVE_LIVE_CROWDED,  /* there was no room to follow the block */
    NATIVE_LIVE_LOST,     /* the block is no longer followed, and may still be allocated */
    NATIVE_LIVE_ENDS,
};

/* Creates an empty *ret. Its memory counts with @r, which outlives it. Returns 0 or -ENOMEM. */
int native_live_new(struct record *r, struct native_live **ret);
/* Frees @l. Accepts NULL. Returns NULL. */
struct native_live *native_live_free(struct native_live *l);
/* Keeps @s, of block number @block of process @id, with a stack of record_hold(). Returns false if
 * there is no room; the sample is then lost. */
bool native_live_keep(struct native_live *l, uint32_t block, const struct proc_id *id,
                      const struct profile_sample *s);
/* Drops the sample of block number @block, and counts it as @how. With @early, drops a sample that
 * comes later, too. */
void native_live_end(struct native_live *l, uint32_t block, enum native_live_end how, bool early);
/* Does the same for all blocks of process @id. */
void native_live_end_process(struct native_live *l, const struct proc_id *id,
                             enum native_live_end how);
/* Counts as lost all samples from before @until_ns, also those that come later. */
void native_live_lose_all(struct native_live *l, uint64_t until_ns);
/* Returns the number of samples that are kept now. */
size_t native_live_kept(const struct native_live *l);
/* Counts a block of @bytes that is not kept. */
void native_live_count(struct native_live *l, uint64_t bytes, enum native_live_end how);

/* The samples of a capture, by their end. */
struct native_live_found {
    uint64_t live, young;             /* numbers of samples; young: taken at until_ns or later */
    uint64_t ended[NATIVE_LIVE_ENDS]; /* samples, by enum native_live_end */
    uint64_t bytes, missed_bytes;     /* allocated in all; in blocks that were not followed */
    uint64_t lost_ends;               /* early frees for which there was no room */
};
typedef void (*native_live_fn)(void *cookie, const struct profile_sample *s);
/* Calls @fn with the remaining samples from before @until_ns. A second call gives no samples. */
void native_live_each(struct native_live *l, uint64_t until_ns, native_live_fn fn, void *cookie,
                      struct native_live_found *ret);
