/* SPDX-License-Identifier: Apache-2.0 */
/* A resolver, as the files that follow its mappings and that name its code share it. */
#pragma once

#include "base/u64_cache.h"
#include "symbolize/resolver.h"

#define RESOLVER_AGAIN_NS NSEC_PER_SEC /* before a file or perf map that failed is tried again */

enum bound_state { BOUND_NOT_YET, BOUND_READING, BOUND_FILE, BOUND_FAILED };

/* What is known of a mapping beyond its line. */
struct bound {
    struct elf_ref elf;
    uint64_t again_ns;
    uint32_t module;  /* id; 0: not made yet */
    uint8_t state;    /* enum bound_state */
    uint32_t inlines; /* number of the file there; 0: not asked for yet */
    uint64_t inlines_again_ns;
};

struct resolver {
    const struct resolver_env *env;
    struct proc_id id;
    struct maps maps;
    struct bound *bound;  /* [maps.count] */
    struct u64_cache pcs; /* address -> frame */
    uint64_t miss_ns;     /* no reading of the maps for a miss before */
    uint64_t due_ns;      /* maps are read again then */
    uint64_t exec_time_ns;
    struct perf_map *perf_map;
    uint64_t perf_map_again_ns;
    uint64_t owner; /* as proc_owner(); 0: not asked for yet */
    bool prepared;
    bool met_reading;               /* since the last tick */
    bool met_generated;             /* the same */
    enum native_image native_image; /* met so far */
    uint64_t long_map_ns;   /* when code was met that a too long perf map may name; 0: never */
    uint64_t left_out_ns;   /* when symbols were last missing for want of room; 0: never */
    uint64_t unanswered_ns; /* when a file system did last not answer; 0: never */
    uint64_t put_off_ns; /* the maps were to be read, and its owner had no time left; 0: they are */
    bool late;           /* the last reading of the maps was out of time before their end */
    struct maps_met *met; /* owned; NULL: none was met that found no room */
    struct java_names *java;
    struct thread_names *threads;
    struct lock_names *locks;
};

/* Returns the bytes that the mappings in @m take. */
size_t resolver_maps_bytes(const struct maps *m);
/* Returns the executable mapping at @address, or NULL. Reads the maps again for one that is
 * missing, if that is due. */
const struct mapping *resolver_mapping(struct resolver *r, uint64_t address, uint64_t now_ns);
/* Returns the file behind @m; NULL: it has none that can be read, or (BOUND_READING) not yet. */
struct elf_image *resolver_bind(struct resolver *r, const struct mapping *m, struct bound *b,
                                uint64_t now_ns);
/* Returns whether both are pieces of one file. One whose rights were changed for some pages has
 * several. */
bool mapping_is_same_file(const struct mapping *a, const struct mapping *b);
/* Tells memory that is no file: the kernel's names in brackets but for the vdso, shared anonymous
 * memory. */
bool mapping_is_anonymous(const struct mapping *m);
/* Tells files in which runtimes keep the code that they generate. */
bool mapping_may_be_generated(const struct mapping *m);
