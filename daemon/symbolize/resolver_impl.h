/* SPDX-License-Identifier: Apache-2.0 */
/* A resolver. Shared by the files that follow its mappings and that name its code. */
#pragma once

#include "base/u64_cache.h"
#include "symbolize/resolver.h"

#define RESOLVER_AGAIN_NS NSEC_PER_SEC /* pause after a failed file or perf map */

enum bound_state { BOUND_NOT_YET, BOUND_READING, BOUND_FILE, BOUND_FAILED };

/* Facts of a mapping beyond its line in maps. */
struct bound {
    struct elf_ref elf;
    uint64_t again_ns;
    uint32_t module;  /* id; 0: not made yet */
    uint8_t state;    /* enum bound_state */
    uint32_t inlines; /* number of the file there; 0: not requested yet */
    uint64_t inlines_again_ns;
};

struct resolver {
    const struct resolver_env *env;
    struct proc_id id;
    struct maps maps;
    struct bound *bound;  /* [maps.count] */
    struct u64_cache pcs; /* address -> frame */
    uint64_t miss_ns;     /* earliest next reading of the maps for an unknown address */
    uint64_t due_ns;      /* next regular reading of the maps */
    uint64_t exec_time_ns;
    struct perf_map *perf_map;
    uint64_t perf_map_again_ns;
    uint64_t owner; /* proc_owner(); 0: not read yet */
    bool prepared;
    bool met_reading;               /* set since the last tick */
    bool met_generated;             /* code without a file or name was met since the last tick */
    enum native_image native_image; /* kind of native image found so far */
    struct naming_gaps gaps;
    bool late;            /* the last reading of the maps hit its time limit */
    struct maps_met *met; /* owned; NULL: samples met no mapping that was left out */
    struct java_names *java;
    struct thread_names *threads;
    struct lock_names *locks;
};

/* Returns the bytes that @m occupies. */
size_t resolver_maps_bytes(const struct maps *m);
/* Returns the executable mapping at @address, or NULL. Reads the maps again if it is missing and a
 * reading is due. */
const struct mapping *resolver_mapping(struct resolver *r, uint64_t address, uint64_t now_ns);
/* Returns the file behind @m; NULL if it cannot be read or is still being read (BOUND_READING). */
struct elf_image *resolver_bind(struct resolver *r, const struct mapping *m, struct bound *b,
                                uint64_t now_ns);
/* Returns true if both are pieces of one file. A file has several pieces if the rights of some
 * pages were changed. */
bool mapping_is_same_file(const struct mapping *a, const struct mapping *b);
/* Returns true for memory without a file: the kernel's names in brackets except the vdso, and
 * shared anonymous memory. */
bool mapping_is_anonymous(const struct mapping *m);
/* Returns true for mappings in which runtimes may keep generated code. */
bool mapping_may_be_generated(const struct mapping *m);
