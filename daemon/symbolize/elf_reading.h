/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading of one ELF file in three steps. First come its headers, then the engine looks for a
 * separate debug file, then come the symbols. The first and the last block. A step is a piece of
 * work for base/worker.h. Knows no cache. Thread: the owner's, but for the steps.
 */
#pragma once

#include "base/file_identity.h"
#include "base/shares.h"
#include "base/worker.h"
#include "elf/elf_file.h"
#include "symbolize/files.h"

#define ELF_READING_NAMES_MAX_BYTES ((size_t)256 << 20) /* of one file, before they are packed */
/* That the symbols of a file may take while they are read. One file is read at a time. */
#define ELF_READING_MAX_BYTES ((size_t)48 << 20)

/* One file as it is kept. */
struct elf_image {
    struct elf_segment segments[ELF_SEGMENTS_MAX];
    size_t segment_count;
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    struct symbol_table symbols;
    /* Where its symbols are left out: */
    bool too_large;       /* they take more than may be had */
    size_t no_room_bytes; /* there was no room for so many bytes; else 0 */
};

struct elf_image *elf_image_free(struct elf_image *image);

/* The files that an image is made of: the same ones make the same image. */
struct elf_keys {
    struct file_identity file, debug, link;
    bool has_debug, has_link;
};

/* Returns whether both are the same files, as of the same changes. */
bool elf_keys_equal(const struct elf_keys *a, const struct elf_keys *b);

/* What a file's headers say of where its symbols are. */
struct elf_headers {
    bool native_image; /* of GraalVM */
    bool stripped;     /* they may be in another file: */
    uint8_t build_id[ELF_BUILD_ID_MAX];
    size_t build_id_n;
    char link_name[ELF_DEBUGLINK_NAME_MAX + 1]; /* "": none */
    uint32_t link_crc;
};

enum elf_step { ELF_STEP_OPEN, ELF_STEP_READ };

struct elf_reading {
    struct work work; /* first */
    uint64_t ticket;  /* the holder's */
    uint64_t owner; /* whose file it is: as proc_owner() tells. (Of the work, who waits for it.) */
    struct proc_id id;
    uint64_t start, end; /* the mapping */
    const struct symbol_files *files;
    enum elf_step step;
    struct fingerprint_key key;
    struct elf_keys keys;
    int fd, debug_fd, link_fd; /* of the file, and of what may be its debug file; -1: none */
    uint64_t copied, debug_copied, link_copied; /* bytes taken of copies for each */
    struct shares *copies; /* borrowed: bytes of copies in memory that are open */
    struct elf_file *file;
    struct elf_headers headers; /* once the first step is over */
    bool waits;                 /* for another reading of the same files; the holder's */
    uint64_t *known;            /* owned: prints of what need not be read again */
    size_t known_count;
    /* What came of it. */
    int outcome;
    struct error err;
    struct error *report;    /* borrowed: where the owner wants it, or NULL */
    uint64_t print;          /* of all that was read; 0: its image is too large */
    struct elf_image *image; /* owned; NULL with outcome 0: its print is known */
};

/* Makes a reading of @fd of @owner, to be begun by its first step. Takes @fd; borrows @files and
 * @copies, the bytes of copies of files that are open (base/memfd_copy.h). NULL: no memory. */
struct elf_reading *elf_reading_new(int fd, uint64_t owner, const struct symbol_files *files,
                                    const struct proc_id *id, uint64_t start, uint64_t end,
                                    const struct fingerprint_key *key, struct shares *copies);
struct elf_reading *elf_reading_free(struct elf_reading *r);
/* Opens what may be its debug file, by its build-id and by its link, if its headers say that it is
 * stripped. Asks the broker. 0, or -ETIMEDOUT: where it would be does not answer. */
int elf_reading_find_debug(struct elf_reading *r);
/* Undoes it. */
void elf_reading_forget_debug(struct elf_reading *r);
