/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of elf_cache, and by no other file. */
#pragma once

#include "symbolize/elf_cache.h"

/* Number of results that are kept: more than there can be readings. */
#define RESULTS_MAX (4 * ELF_CACHE_READINGS_ALL)

struct elf_slot {
    struct elf_image *image;    /* owned; NULL: the slot is free */
    uint64_t print;             /* hash of the contents of the file and of its debug file */
    struct elf_keys keys;       /* keys of the files of its last reading */
    struct elf_headers headers; /* of the file */
    uint64_t owner;             /* the owner that is charged for its memory */
    uint64_t used;              /* turn of the last use */
    uint64_t used_ns;           /* approximate time of the last use */
    uint32_t serial;
    size_t bytes;
};

/* The result of the reading @ticket. */
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
    uint64_t tried_ns; /* last run of slots_try_again() */
    uint32_t serial;
    struct worker *worker;                                /* NULL: no thread */
    struct elf_reading *readings[ELF_CACHE_READINGS_ALL]; /* readings in work, or waiting for
                                                           * another reading */
    size_t reading_count;
    struct shares places; /* places of readings, shared by owners */
    uint64_t last_ticket;
    struct elf_result results[RESULTS_MAX]; /* indexed by ticket */
    struct elf_cache_stats stats;
};

/* Frees @s and gives its memory back. */
void slot_clear(struct elf_cache *c, struct elf_slot *s);
/* Returns a reference to the image in @s, and marks @s as used. */
struct elf_ref slot_ref(struct elf_cache *c, struct elf_slot *s);
/* Returns the image with this content; NULL: none. */
struct elf_slot *slot_by_print(struct elf_cache *c, uint64_t print);
/* Returns the image of exactly these files; NULL: none. Ignores an image without symbols of another
 * owner, because the share of @owner may have room for the symbols. */
struct elf_slot *slot_by_keys(struct elf_cache *c, const struct elf_keys *keys, uint64_t owner);
/* Returns the headers of the first file of @keys if it was read before, else NULL. */
const struct elf_headers *headers_by_keys(const struct elf_cache *c, const struct elf_keys *keys);
/* Stores the image of @r, and takes the image. */
struct elf_slot *slot_store(struct elf_cache *c, struct elf_reading *r);
/* Drops files without symbols for which there is room now. They are read again on the next
 * request. */
void slots_try_again(struct elf_cache *c);
