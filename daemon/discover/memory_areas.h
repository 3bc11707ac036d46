/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The areas of a JVM's memory, which add up to its resident memory. The area of a mapping follows
 * from the VM's own bounds, then from its file, then from its neighbors. Pure.
 */
#pragma once

#include "hotspot/areas.h"
#include "proc/proc.h"

/* X(ID, name, meaning) */
#define MEMORY_AREAS(X)                                                                            \
    X(HEAP, "java_heap", "Java objects")                                                           \
    X(METASPACE, "metaspace", "what describes classes")                                            \
    X(CLASS_SPACE, "class_space", "the part of metaspace that compressed class pointers reach")    \
    X(CODE, "code_cache", "compiled code, stubs, the interpreter")                                 \
    X(JAVA_STACKS, "java_stacks", "stacks of Java threads, the compilers' among them")             \
    X(NATIVE_STACKS, "native_stacks", "stacks of other threads: the collector's, the VM's")        \
    X(GC, "gc", "the card table of the collector")                                                 \
    X(MALLOC, "malloc", "native memory by glibc's malloc: direct buffers, the VM, libraries")      \
    X(CDS, "cds_archive", "classes that JVMs share (CDS)")                                         \
    X(LIBJVM, "libjvm", "the VM's code and variables")                                             \
    X(JARS, "jars", "jar files and the JDK's modules")                                             \
    X(LIBRARIES, "libraries", "other libraries and programs")                                      \
    X(FILES, "files", "other mapped files and shared memory")                                      \
    X(OTHER, "other", "not known: the collector's other tables, other allocators")

enum memory_area {
#define X(id, name, text) MEMORY_##id,
    MEMORY_AREAS(X)
#undef X
        MEMORY_AREA_COUNT,
};

/* Return the name of @area, such as "java_heap", and its meaning. */
const char *memory_area_name(enum memory_area area);
const char *memory_area_text(enum memory_area area);

/* A part of a mapping that belongs to one area. */
struct memory_piece {
    uint64_t start, end;
    enum memory_area area;
    bool probe; /* the area is not known: the piece is malloc's if the words at its start show it */
};

struct memory_pieces {
    struct memory_piece *list; /* owned; ascending */
    size_t count;
    uint64_t huge_bytes; /* bytes of hugetlbfs: not in RSS, and not in `list` */
    bool truncated;      /* there were more than MEMORY_PIECES_MAX pieces */
};

#define MEMORY_PIECES_MAX 65536

/* Gets the accessible pieces of @maps. *@ret is for memory_pieces_deinit(). Returns 0 or -ENOMEM.
 * @vm: the VM's ranges, in any order. */
int memory_pieces_of(const struct maps *maps, const struct vm_areas *vm, struct memory_pieces *ret);
void memory_pieces_deinit(struct memory_pieces *p);

#define MEMORY_ARENA_BYTES ((uint64_t)64 << 20) /* glibc's HEAP_MAX_SIZE on 64 bits */
#define MEMORY_PROBE_WORDS 2
/* Reads glibc's malloc header at @start of a mapping that ends at @end: an arena, or a block with
 * its own mapping. @words: the words at @start. Returns bytes; 0: not malloc's. */
uint64_t memory_malloc_bytes(uint64_t start, uint64_t end,
                             const uint64_t words[MEMORY_PROBE_WORDS]);
