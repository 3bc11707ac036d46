/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the code map. code_map.c takes records, code_map_index.c finds the piece at an
 * address and a time, and code_map_ask.c names it. */
#pragma once

#include "attach/code_map.h"

/* Bytes of records as the agent wrote them, checked once. Pieces and methods point into them. */
struct chunk {
    struct chunk *next;
    size_t n;
    char bytes[];
};

struct method {
    struct stream_method head;
    const char *strings;
    const char *lines;
};

struct piece {
    uint64_t start, end, from_ns, to_ns;
    uint32_t method, name_n, pc_count;
    bool stub;
    const char *detail; /* a stub's name, else pc_count records of pcs */
};

#define PIECE_BLOCK 1024u /* pieces of a block; blocks never move */

struct code_map {
    struct chunk *chunks;
    struct method *methods;                                  /* [method_cap], by id - 1 */
    struct piece *blocks[CODE_MAP_PIECES_MAX / PIECE_BLOCK]; /* in the order of their arrival */
    void *alive;     /* tree of tsearch(3): the pieces of methods that live, which never overlap */
    uint32_t *order; /* [ordered_cap]: indices of pieces, by start, then by arrival */
    uint64_t *reach; /* [ordered_cap]: highest end among the pieces order[0..i] */
    uint32_t method_cap, piece_count, ordered, ordered_cap;
    struct shares *memory; /* borrowed; NULL: the memory is counted by nobody */
    uint64_t owner;
    struct code_map_stats stats;
};

/* Returns piece number @i. */
static inline struct piece *piece_at(const struct code_map *m, uint32_t i)
{
    return &m->blocks[i / PIECE_BLOCK][i % PIECE_BLOCK];
}

/* Puts all pieces in order. Returns false if out of memory. */
bool code_map_index(struct code_map *m);
/* Ends the pieces of methods that live in [start, end) at @time_ns. Pieces that are older than the
 * first event have no exact time. */
void code_map_end(struct code_map *m, uint64_t start, uint64_t end, uint64_t time_ns);
/* Adds @p, a piece of a method, to the living ones. Returns false if out of memory. */
bool code_map_live(struct code_map *m, const struct piece *p);
/* Returns the piece of code at @pc at @time_ns. Points into @m; NULL: none, or too many pieces lie
 * around that address (CODE_MAP_WALK_MAX). */
const struct piece *code_map_piece(struct code_map *m, uint64_t pc, uint64_t time_ns);
