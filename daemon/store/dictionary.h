/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary: the names and stacks that the captures of about a day share. In memory it is a
 * frame table and a tree of stacks; on disk one row of additions for each capture that added
 * something. Ids are assigned in the order of adding, so replaying the additions gives the same
 * ids. Thread: the store's lock holder.
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
    struct frame_table_counts saved; /* counts at the last dictionary_mark_saved() */
    uint32_t saved_nodes;
    uint64_t left_out; /* strings omitted for lack of room */
    uint64_t used_ns;  /* CLOCK_MONOTONIC: last load of a dictionary that is only read */
};

int dictionary_new(int64_t id, struct dictionary **ret);
struct dictionary *dictionary_free(struct dictionary *e);
/* Returns the bytes of memory in use. */
size_t dictionary_bytes(const struct dictionary *e);

/* Finds or adds the stacks of @p; ret_nodes[p->stack_count] gets their nodes. Returns 0, -ENOSPC
 * (the dictionary is full: begin another) or -ENOMEM. */
int dictionary_add_stacks(struct dictionary *e, const struct profile *p, uint32_t *ret_nodes);
/* Replaces the strings of @process, which are ids of @p, by ids of @e. Strings that the store does
 * not keep become 0. */
void dictionary_add_process(struct dictionary *e, const struct profile *p,
                            struct profile_process *process);
int dictionary_add_string(struct dictionary *e, struct span s, uint32_t *ret);
/* Write and read a process with strings of a dictionary. @services: the blob has them. Returns
 * false if malformed. */
void process_encode(const struct profile_process *p, struct buf *out);
bool process_decode(struct span *s, bool services, struct profile_process *p);

/* Maps the stacks of a dictionary to places in a record that uses its table. */
struct dictionary_places {
    const struct dictionary *e; /* borrowed */
    struct record *record;      /* borrowed */
    uint32_t *of;               /* [e->nodes.count]: place + 1 of each node; 0: not mapped yet */
    uint32_t *path;             /* [DICTIONARY_DEPTH_MAX] */
};
int dictionary_places_init(struct dictionary_places *d, const struct dictionary *e,
                           struct record *record);
void dictionary_places_deinit(struct dictionary_places *d);
/* Adds @s with the stack of node @node; s->stack is ignored. Return: as record_sample(); -EBADMSG:
 * no such node. */
int dictionary_sample(struct dictionary_places *d, const struct profile_sample *s, uint32_t node);

/* Appends the additions since the last dictionary_mark_saved() to @out (not compressed). */
void dictionary_additions(const struct dictionary *e, struct buf *out);
bool dictionary_has_additions(const struct dictionary *e);
void dictionary_mark_saved(struct dictionary *e);
/* Replays a row of additions. Return: 0; -EBADMSG: damaged; -ENOMEM. */
int dictionary_replay(struct dictionary *e, struct span additions);
/* Ends the replay of all rows. Stored functions without a route never get one after this. So no
 * later process can give a route to a function of other processes with the same name. */
void dictionary_replayed(struct dictionary *e);
/* Frees what only additions need. After this, @e may only be read. */
void dictionary_seal(struct dictionary *e);
