/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file of symbolize/inlines.h: its requested addresses and answers, and the work of reading it
 * on another thread. Between begin and end of that work, only the work uses struct inlines_reading.
 */
#pragma once

#include "base/id_table.h"
#include "base/worker.h"
#include "symbolize/inlines.h"

/* A reading of a file. */
struct inlines_reading {
    struct namer *namer; /* borrowed */
    int fd, debug_fd, link_fd, alt_fd;
    int outcome; /* result of opening the file: 0 or -errno; 1: not opened yet */
    struct dwarf *dwarf, *alt;
    uint64_t *asked; /* owned: addresses, and their numbers */
    uint32_t *numbers;
    size_t asked_count;
    struct dwarf_answers result;
    int result_outcome;
};

struct inlines_file {
    struct work work; /* first */
    uint32_t number;
    struct file_identity identity;
    struct proc_id id; /* a process that maps the file */
    struct elf_headers headers;
    uint64_t read_ns, used_ns;    /* end of the last reading; time of the last request */
    uint64_t cpu_ns;              /* CPU time of all readings together */
    uint64_t copied_bytes, bytes; /* bytes charged for open copies in memory; bytes charged for all
                                   * other memory */
    bool reading, alt_asked, given_up;
    struct id_table addresses;    /* uint64_t */
    struct dwarf_answer *answers; /* owned, [addresses.cap] */
    size_t answer_cap, answered;
    struct dwarf_frame *frames; /* owned */
    size_t frame_count, frame_cap;
    struct intern *strings; /* owned */
    struct inlines_reading job;
};

/* Makes a file. Takes the descriptors; -1: none. Returns NULL if memory is short. */
struct inlines_file *inlines_file_new(int fd, int debug_fd, int link_fd);
struct inlines_file *inlines_file_free(struct inlines_file *f);
bool inlines_file_wants(const struct inlines_file *f); /* returns whether answers may still come */
/* Prepares the next reading, for addresses without an answer. Returns false if there are none, or
 * if memory is short. */
bool inlines_file_begin(struct inlines_file *f);
/* Stores the answers of the reading; without @room, the file gets no further answers. */
void inlines_file_end(struct inlines_file *f, bool room, uint64_t now_ns);
/* Returns the build-id of the shared debug file that has to be opened now; empty: none. */
struct span inlines_file_alt(const struct inlines_file *f);
size_t inlines_file_bytes(const struct inlines_file *f);
