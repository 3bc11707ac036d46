/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples whose stack leads through a file whose symbols are being read: they are held, as they
 * came, until it is read. Bounded in number of bytes and in time; beyond it they are named without
 * it. Thread: the engine's.
 */
#pragma once

#include "base/span.h"
#include "discover/discover.h"
#include "sample/sample_abi.h"

#define HELD_BYTES_MAX ((size_t)32 << 20)
#define HELD_NS_MAX (10 * NSEC_PER_SEC)

struct held_sample {
    struct held_sample *next;
    struct process *process; /* pinned */
    uint64_t since_ns;
    struct sample_record rec;
    uint64_t frames[]; /* of the kernel, then of the user */
};

struct held {
    struct held_sample *first, **end; /* in the order in which they came */
    size_t count, bytes;
    uint64_t hurried; /* that were named without the file's symbols */
};

void held_init(struct held *h);
void held_deinit(struct held *h);
/* Copies a sample. False where there is no room. */
bool held_add(struct held *h, struct process *p, const struct sample_record *rec,
              const uint64_t *frames, uint64_t now_ns);
/* Whether one of set @set, taken before @until_ns, is held. */
bool held_has(const struct held *h, uint32_t set, uint64_t until_ns);
/* Takes out the oldest one that @ready says is ready, after *at (NULL: from the beginning), and
 * moves *at on; NULL: there is none. The caller's, for held_free(). */
struct held_sample *held_take(struct held *h, struct held_sample ***at,
                              bool (*ready)(void *cookie, const struct held_sample *s),
                              void *cookie);
void held_free(struct held_sample *s);
