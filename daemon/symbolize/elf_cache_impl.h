/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of elf_cache share; for nobody else. */
#pragma once

#include "symbolize/elf_cache.h"

/* Results of so many readings are known: more than can be under way. */
#define RESULTS_MAX (4 * ELF_CACHE_READINGS_ALL)

struct elf_slot {
    struct elf_image *image;    /* owned; NULL: free */
    uint64_t print;             /* of the file and of its debug file */
    struct elf_keys keys;       /* of the files that it was last made of */
    struct elf_headers headers; /* of the file */
    uint64_t owner;             /* whose memory it takes */
    uint64_t used;              /* turn of the last use */
    uint64_t used_ns;           /* when, about */
    uint32_t serial;
    size_t bytes;
};

/* What came of the reading @ticket. */
struct elf_result {
    uint64_t ticket;
    int outcome;
    struct elf_ref ref;
};

struct elf_cache {
    struct memory_budget *memory;
    struct elf_slot *slots; /* [count] */
    size_t count;
    struct fingerprint_key key;
    uint64_t turn, now_ns;
    uint64_t tried_ns; /* when slots_try_again() last looked */
    uint32_t serial;
    struct worker *worker;                                /* NULL: files are read at once */
    struct elf_reading *readings[ELF_CACHE_READINGS_ALL]; /* owned by it, or waiting for another */
    size_t reading_count;
    struct shares places; /* of the readings */
    uint64_t last_ticket;
    struct elf_result results[RESULTS_MAX]; /* by ticket */
    struct elf_cache_stats stats;
};

/* Frees @s and gives its memory back. */
void slot_clear(struct elf_cache *c, struct elf_slot *s);
/* Names what is in @s, which is used by that. */
struct elf_ref slot_ref(struct elf_cache *c, struct elf_slot *s);
/* Returns the image with this content; NULL: there is none. */
struct elf_slot *slot_by_print(struct elf_cache *c, uint64_t print);
/* Returns the image of the very same files; NULL: there is none. Of another owner one without
 * symbols does not count: there may be room for them in this owner's share. */
struct elf_slot *slot_by_keys(struct elf_cache *c, const struct elf_keys *keys, uint64_t owner);
/* Returns the headers of the file that @keys begin with, if it was read before; else NULL. */
const struct elf_headers *headers_by_keys(const struct elf_cache *c, const struct elf_keys *keys);
/* Takes the image of @r. */
struct elf_slot *slot_store(struct elf_cache *c, struct elf_reading *r);
/* Drops files without symbols for which there is room by now: they are read again when they are
 * wanted. */
void slots_try_again(struct elf_cache *c);
