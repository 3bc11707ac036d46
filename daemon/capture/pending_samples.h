/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples whose stack leads through a file whose symbols are being read: they are held, as they
 * came, until it is read. Bounded in time, and in bytes by each owner's share.
 * Beyond it they are named without the file. Thread: the engine's.
 */
#pragma once

#include "base/shares.h"
#include "base/span.h"
#include "discover/discover.h"
#include "sample/sample_abi.h"

#define PENDING_BYTES_MAX ((size_t)48 << 20) /* half of it of one owner */
#define PENDING_NS_MAX (10 * NSEC_PER_SEC)

struct pending_sample {
    struct pending_sample *next;
    struct process *process; /* pinned */
    uint64_t owner;          /* of the process, as proc_owner() tells */
    uint64_t since_ns;
    size_t bytes;      /* of this struct, all told */
    struct span stack; /* the copy of the stack, behind the frames */
    struct sample_record rec;
    uint64_t frames[]; /* of the kernel, then of the user */
};

struct pending_samples {
    struct pending_sample *first, **end; /* in the order in which they came */
    size_t count;
    struct shares bytes; /* by whose process it is */
    uint64_t hurried;    /* that were named without the file's symbols */
};

void pending_init(struct pending_samples *h);
void pending_deinit(struct pending_samples *h);
/* Copies a sample, and what of its stack is in @stack. False where there is no room. */
bool pending_add(struct pending_samples *h, struct process *p, const struct sample_record *rec,
                 const uint64_t *frames, struct span stack, uint64_t now_ns);
/* Returns whether one of @sets (bits), taken before @until_ns, is held. */
bool pending_has(const struct pending_samples *h, uint32_t sets, uint64_t until_ns);
/* Takes out the oldest one that @ready says is ready, after *at (NULL: from the beginning), and
 * moves *at on; NULL: there is none. The caller's, for pending_free(). */
struct pending_sample *pending_take(struct pending_samples *h, struct pending_sample ***at,
                                    bool (*ready)(void *cookie, const struct pending_sample *s),
                                    void *cookie);
void pending_free(struct pending_sample *s);
