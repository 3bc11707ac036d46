/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one JVM as its agent reports it: which code was at which address, and when. The input
 * is records of agent/stream.h. They are hostile, since the JVM can write them itself. Look-ups are
 * by an address and a time. All tables are bounded; records that do not fit are counted. Thread:
 * the owner's.
 */
#pragma once

#include "agent/stream.h"
#include "base/cleanup.h"
#include "base/shares.h"
#include "base/span.h"

#define CODE_MAP_MAX_BYTES ((size_t)128 << 20)
#define CODE_MAP_PIECES_MAX 262144u
#define CODE_MAP_METHODS_MAX STREAM_METHODS_MAX
#define CODE_MAP_FRAMES_MAX 64
/* A look-up gives up after this many pieces at and before its address. Those are of code that was
 * there at other times. */
#define CODE_MAP_WALK_MAX 4096u
/* A JVM reports code only after it has begun to run. So code also counts for this long before its
 * report, unless other code is known to have been at its address. */
#define CODE_MAP_LATE_NS UINT64_C(2000000000)

struct code_map;
struct piece;

/* Counts the map's memory in @memory for @owner, and keeps within its share. NULL: the memory is of
 * a request (base/memory_guard.h). Borrows @memory. Returns 0 or -ENOMEM. */
int code_map_new(struct shares *memory, uint64_t owner, struct code_map **ret);
struct code_map *code_map_free(struct code_map *m);
CLEANUP_FUNCTION(code_map_freep, code_map, code_map_free)

/* Takes whole records. Return: 0; -EBADMSG: malformed, and the rest of the stream cannot be
 * trusted; -ENOMEM. Records beyond a limit are counted, and are no error. */
int code_map_feed(struct code_map *m, struct span records);

struct code_method {
    struct span class_name, name, signature,
        file; /* raw modified UTF-8; class "java/lang/Thread" */
};

struct code_location {
    uint32_t method; /* id for code_map_method(); 0: unknown */
    int32_t bci;     /* -1: unknown */
    bool inlined;    /* the method is inlined into the next frame */
};

struct code_piece {
    uint64_t start, end;
    uint64_t from_ns, to_ns; /* lived in [from, to); 0 and UINT64_MAX: not known */
    uint32_t method;         /* method id; 0: a stub */
    bool stub;
    struct span stub_name; /* raw */
    const struct piece *inside;
};

/* Gets the piece of code that was at @pc at the time @time_ns. Return: 1; 0: none is known. Spans
 * point into @m until the next code_map_feed(). */
int code_map_find(struct code_map *m, uint64_t pc, uint64_t time_ns, struct code_piece *ret);
/* Gets the frames at @pc, innermost first, the compiled method last, by HotSpot's rule. A return
 * address takes the debug record of exactly that pc. Any other pc takes the first record after it,
 * which ends the code that it describes (AsyncGetCallTrace's rule). Returns their number; 0: no
 * method is known there. */
size_t code_map_locate(struct code_map *m, uint64_t pc, uint64_t time_ns, bool is_return_address,
                       struct code_location ret[CODE_MAP_FRAMES_MAX]);
/* Gets the names of @id. Return: 1; 0: never named. Spans point into @m until the next
 * code_map_feed(). */
int code_map_method(const struct code_map *m, uint32_t id, struct code_method *ret);
/* Returns the source line of @bci; 0: unknown. */
uint32_t code_map_line(struct code_map *m, uint32_t id, int32_t bci);

/* Calls @fn for each piece that lived at @time_ns (UINT64_MAX: now), in order of addresses, until
 * @fn returns non-zero, and returns that. */
int code_map_each(struct code_map *m, uint64_t time_ns,
                  int (*fn)(void *cookie, const struct code_piece *p), void *cookie);
/* Calls @fn for each range of @piece that has one stack of frames. */
int code_map_each_range(const struct code_piece *piece,
                        int (*fn)(void *cookie, uint64_t start, uint64_t end,
                                  const struct code_location *frames, size_t count),
                        void *cookie);

struct code_map_stats {
    uint64_t records, methods, pieces, unloads;
    uint64_t dropped;  /* records that were dropped for want of room */
    uint64_t steps;    /* pieces, pcs, frames and lines that look-ups have read */
    uint64_t given_up; /* look-ups that met more than CODE_MAP_WALK_MAX pieces */
    size_t bytes;      /* memory of the map */
};
/* Returns the counters and sizes of @m. */
struct code_map_stats code_map_stats(const struct code_map *m);
