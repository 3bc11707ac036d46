/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An epoch: the names and stacks that the captures of about a day share. In memory a frame table
 * and a tree of stacks; on disk a row of additions for each capture that brought something new. Ids
 * are the order of adding, so that replaying the additions gives the same ids. Thread: the store's
 * lock holder.
 */
#pragma once

#include "base/buf.h"
#include "base/id_table.h"
#include "profile/profile.h"

#define EPOCH_ENTRIES_MAX ((size_t)8 << 20)
#define EPOCH_STRING_BYTES_MAX ((size_t)256 << 20)
#define EPOCH_NODES_MAX 16000000u
#define EPOCH_DEPTH_MAX 16384

struct epoch_node {         /* no padding: a key */
    uint32_t parent, frame; /* node 0 is the root */
};

struct epoch {
    int64_t id;
    struct frame_table *table;
    struct id_table nodes;           /* struct epoch_node */
    struct frame_table_counts saved; /* how far additions were taken */
    uint32_t saved_nodes;
    uint64_t used_ns; /* CLOCK_MONOTONIC: when it was last asked for, where it is only read */
};

int epoch_new(int64_t id, struct epoch **ret);
struct epoch *epoch_free(struct epoch *e);
size_t epoch_bytes(const struct epoch *e);

/* Finds or adds the stacks of @p: ret_nodes[p->stack_count] are their nodes. 0, -ENOSPC (it is
 * full: begin another), -ENOMEM. */
int epoch_add_stacks(struct epoch *e, const struct profile *p, uint32_t *ret_nodes);
int epoch_add_string(struct epoch *e, struct span s, uint32_t *ret);

/* Appends what was added since the last epoch_mark_saved() to @out (not compressed). */
void epoch_additions(const struct epoch *e, struct buf *out);
bool epoch_has_additions(const struct epoch *e);
void epoch_mark_saved(struct epoch *e);
/* Replays a row of additions. 0; -EBADMSG: damaged; -ENOMEM. */
int epoch_replay(struct epoch *e, struct span additions);
