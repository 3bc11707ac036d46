/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with stacks through a file with symbols that are being read. They are held without names
 * until the reading ends. The time and each owner's share of bytes are bounded. Beyond these
 * bounds, samples are named without the file. Thread: the engine's.
 */
#pragma once

#include "base/shares.h"
#include "base/span.h"
#include "discover/discover.h"
#include "sample/sample_abi.h"

#define PENDING_BYTES_MAX ((size_t)32 << 20) /* one owner may use half of it */
#define PENDING_NS_MAX (10 * NSEC_PER_SEC)

struct pending_sample {
    struct pending_sample *next;
    struct process *process; /* pinned */
    uint64_t owner;          /* proc_owner() of the process */
    uint64_t since_ns;
    size_t bytes;      /* of this struct with frames and stack */
    struct span stack; /* copied stack, behind the frames */
    struct sample_record rec;
    uint64_t frames[]; /* kernel, then user */
};

struct pending_samples {
    struct pending_sample *first, **end; /* in order of arrival */
    size_t count;
    struct shares bytes; /* bytes by owner of the process */
    uint64_t hurried;    /* samples named without the file's symbols */
};

/* @waiting: the whole that their bytes count in, too; NULL: none. */
void pending_init(struct pending_samples *h, struct shares *waiting);
void pending_deinit(struct pending_samples *h);
/* Copies a sample and the copied bytes @stack of its stack. Returns false if there is no room. */
bool pending_add(struct pending_samples *h, struct process *p, const struct sample_record *rec,
                 const uint64_t *frames, struct span stack, uint64_t now_ns);
/* Returns whether a sample of one of @sets (bits), taken before @until_ns, is held. */
bool pending_has(const struct pending_samples *h, uint32_t sets, uint64_t until_ns);
/* Removes the first sample after *at (NULL: from the beginning) for which @ready is true, and
 * advances *at. Returns it, for pending_free(). NULL: there is none. */
struct pending_sample *pending_take(struct pending_samples *h, struct pending_sample ***at,
                                    bool (*ready)(void *cookie, const struct pending_sample *s),
                                    void *cookie);
void pending_free(struct pending_sample *s);
