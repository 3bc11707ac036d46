/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one ELF file in three steps: its headers, a search for a separate debug file by the engine,
 * and the symbols. The first and the last step block. Each step is a piece of work for
 * base/worker.h. Knows no cache. Thread: the owner's, but for the steps.
 */
#pragma once

#include "base/file_identity.h"
#include "base/shares.h"
#include "base/worker.h"
#include "elf/elf_file.h"
#include "symbolize/files.h"

#define ELF_READING_NAMES_MAX_BYTES ((size_t)256 << 20) /* of one file, before packing */

/* The kept parts of one file. */
struct elf_image {
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    struct symbol_table symbols;
    /* If its symbols were left out, one of these is set. */
    bool too_large;       /* the symbols exceed the limit of a file */
    size_t no_room_bytes; /* bytes for which there was no room; else 0 */
};

struct elf_image *elf_image_free(struct elf_image *image);

/* The files that an image is made of. Equal keys mean an equal image. */
struct elf_keys {
    struct file_identity file, debug, link;
    bool has_debug, has_link;
};

/* Returns true if both are the same files in the same state. */
bool elf_keys_equal(const struct elf_keys *a, const struct elf_keys *b);

/* Facts of a file's headers that are needed to find its symbols. */
struct elf_headers {
    bool native_image; /* an image of GraalVM */
    bool stripped;     /* the symbols may be in another file, named here: */
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    char link_name[ELF_DEBUGLINK_NAME_MAX + 1]; /* "": no link */
    uint32_t link_crc;
};

enum elf_step { ELF_STEP_OPEN, ELF_STEP_READ };

struct elf_reading {
    struct work work; /* first */
    uint64_t ticket;  /* set by the cache */
    uint64_t owner;   /* owner of the file, by proc_owner(); work.owner is the owner that waits for
                       * it */
    struct proc_id id;
    uint64_t start, end; /* the mapping */
    const struct symbol_files *files;
    enum elf_step step;
    struct fingerprint_key key;
    struct elf_keys keys;
    int fd, debug_fd, link_fd; /* the file, and its possible debug files; -1: none */
    uint64_t copied, debug_copied, link_copied; /* bytes of each file if it is a copy */
    struct shares *copies;                      /* borrowed: bytes of open copies in memory */
    struct elf_file *file;
    struct elf_headers headers; /* valid after the first step */
    bool waits;                 /* waits for another reading of the same files; set by the holder */
    uint64_t *known;            /* owned: hashes of contents that need not be read */
    size_t known_count;
    /* The results of the reading. */
    int outcome;
    struct error err;
    struct error *report;    /* borrowed; a copy for the caller, or NULL */
    uint64_t print;          /* hash of all content read; 0: its image is too large */
    struct elf_image *image; /* owned; NULL with outcome 0: its hash is in `known` */
};

/* Makes a reading of @fd of @owner, for its first step. Takes @fd; borrows @files and @copies, the
 * bytes of open copies of files (base/memfd_copy.h). Returns NULL if memory is short. */
struct elf_reading *elf_reading_new(int fd, uint64_t owner, const struct symbol_files *files,
                                    const struct proc_id *id, uint64_t start, uint64_t end,
                                    const struct fingerprint_key *key, struct shares *copies);
struct elf_reading *elf_reading_free(struct elf_reading *r);
/* Opens possible debug files, by build-id and by link, if the headers are those of a stripped file.
 * Asks the broker. Returns 0, or -ETIMEDOUT if the file system does not answer. */
int elf_reading_find_debug(struct elf_reading *r);
/* Undoes elf_reading_find_debug(). */
void elf_reading_forget_debug(struct elf_reading *r);
