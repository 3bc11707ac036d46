/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary: the names and stacks that the captures of about a day share. In memory a frame
 * table and a tree of stacks; on disk a row of additions for each capture that brought something
 * new. Ids are the order of adding, so that replaying the additions gives the same ids. Thread: the
 * store's lock holder.
 */
#pragma once

#include "base/buf.h"
#include "base/id_table.h"
#include "profile/profile.h"

#define DICTIONARY_ENTRIES_MAX ((size_t)8 << 20)
#define DICTIONARY_STRING_BYTES_MAX ((size_t)256 << 20)
#define DICTIONARY_NODES_MAX 16000000u
#define DICTIONARY_DEPTH_MAX 16384

struct dictionary_node {    /* no padding: a key */
    uint32_t parent, frame; /* node 0 is the root */
};

struct dictionary {
    int64_t id;
    struct frame_table *table;
    struct id_table nodes;           /* struct dictionary_node */
    struct frame_table_counts saved; /* how far additions were taken */
    uint32_t saved_nodes;
    uint64_t left_out; /* strings for which there was no room */
    uint64_t used_ns;  /* CLOCK_MONOTONIC: when it was last asked for, where it is only read */
};

int dictionary_new(int64_t id, struct dictionary **ret);
struct dictionary *dictionary_free(struct dictionary *e);
/* Returns its bytes of memory. */
size_t dictionary_bytes(const struct dictionary *e);

/* Finds or adds the stacks of @p: ret_nodes[p->stack_count] are their nodes. 0, -ENOSPC (it is
 * full: begin another), -ENOMEM. */
int dictionary_add_stacks(struct dictionary *e, const struct profile *p, uint32_t *ret_nodes);
int dictionary_add_string(struct dictionary *e, struct span s, uint32_t *ret);

/* Where stacks of a dictionary are in a record that is made of its table. */
struct dictionary_places {
    const struct dictionary *e; /* borrowed */
    struct record *record;      /* borrowed */
    uint32_t *of;               /* [e->nodes.count]: place + 1; 0: not asked for yet */
    uint32_t *path;             /* [DICTIONARY_DEPTH_MAX] */
};
int dictionary_places_init(struct dictionary_places *d, const struct dictionary *e,
                           struct record *record);
void dictionary_places_deinit(struct dictionary_places *d);
/* Adds @s, whose stack is node @node of the dictionary; s->stack is not looked at. As
 * record_sample(); -EBADMSG: there is no such node. */
int dictionary_sample(struct dictionary_places *d, const struct profile_sample *s, uint32_t node);

/* Appends what was added since the last dictionary_mark_saved() to @out (not compressed). */
void dictionary_additions(const struct dictionary *e, struct buf *out);
bool dictionary_has_additions(const struct dictionary *e);
void dictionary_mark_saved(struct dictionary *e);
/* Replays a row of additions. 0; -EBADMSG: damaged; -ENOMEM. */
int dictionary_replay(struct dictionary *e, struct span additions);
