/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files that are held open for a moment, so that a line of any process's maps stands for them. A
 * node that starts a hundred compilers a second would otherwise have their libraries opened a
 * hundred times. While a file is open, no other file gets its device and inode, and fstat() of the
 * descriptor tells whether it was changed. Thread: the feeder's.
 */
#pragma once

#include "base/clock.h"
#include "base/file_identity.h"
#include "proc/proc.h"

#define PINNED_FILES_MAX 128
/* After its last use a file is held for this long. Until then a removed file keeps its blocks on
 * the disk, and its file system cannot be unmounted. */
#define PINNED_FILES_NS (2 * NSEC_PER_SEC)

struct pinned_files {
    struct pinned_file {
        int fd;                        /* owned */
        uint64_t inode;                /* as maps files name it, */
        uint32_t dev_major, dev_minor; /* and its device */
        struct file_identity identity;
        uint64_t used_ns; /* CLOCK_MONOTONIC */
    } files[PINNED_FILES_MAX];
    size_t count;
};

void pinned_files_deinit(struct pinned_files *p);
/* Holds the file @fd (borrowed), which is behind @m. Does nothing if others than root can write to
 * it, or if maps files name it by other numbers than fstat() does. (A subvolume of btrfs has a
 * device of its own for fstat() alone, and shares inodes with others.) The file that was used least
 * recently makes room. */
void pinned_files_add(struct pinned_files *p, int fd, const struct mapping *m,
                      const struct file_identity *identity, uint64_t now_ns);
/* Gets the identity of the file behind @m. False: it is not held, or was changed. */
bool pinned_files_find(struct pinned_files *p, const struct mapping *m, uint64_t now_ns,
                       struct file_identity *ret);
/* Closes the files that were not used for PINNED_FILES_NS. */
void pinned_files_release(struct pinned_files *p, uint64_t now_ns);
