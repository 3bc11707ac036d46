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

struct code_map {
    struct chunk *chunks;
    struct method *methods; /* [method_cap], by id - 1 */
    struct piece *pieces;   /* in the order in which they came */
    uint32_t *order;        /* [piece_cap]: indices of pieces, by start, then by arrival */
    uint64_t *reach;        /* [piece_cap]: highest end among the pieces order[0..i] */
    uint32_t method_cap, piece_count, piece_cap, ordered;
    struct code_map_stats stats;
};

/* Adds the last piece to the order, if all others are in order and it belongs after them. A JVM
 * reports its code heap by heap, from low addresses to high. */
void code_map_append(struct code_map *m);
/* Puts all pieces in order. Returns false if out of memory. */
bool code_map_index(struct code_map *m);
/* Ends the pieces that live in [start, end) at @time_ns, since two pieces never overlap. Pieces
 * that are older than the first event have no exact time. Only the newest piece at an address can
 * be alive, and few overlap. */
void code_map_end(struct code_map *m, uint64_t start, uint64_t end, uint64_t time_ns);
/* Returns the piece of code at @pc at @time_ns. Points into @m; NULL: none. */
const struct piece *code_map_piece(struct code_map *m, uint64_t pc, uint64_t time_ns);
