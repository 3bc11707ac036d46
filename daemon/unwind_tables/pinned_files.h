/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Keeps files open for a moment, so that lines of any process's maps identify them without opening.
 * A node that starts a hundred compilers a second would otherwise open their libraries a hundred
 * times. While a file is open, no other file gets its device and inode, and fstat() of the
 * descriptor shows whether it was changed. Thread: the feeder's.
 */
#pragma once

#include "base/clock.h"
#include "base/file_identity.h"
#include "proc/proc.h"

#define PINNED_FILES_MAX 128
/* How long a file stays open after its last use. Until then a removed file keeps its disk blocks,
 * and its file system cannot be unmounted. */
#define PINNED_FILES_NS (2 * NSEC_PER_SEC)

struct pinned_files {
    struct pinned_file {
        int fd;                        /* owned */
        uint64_t inode;                /* inode number in maps files */
        uint32_t dev_major, dev_minor; /* device in maps files */
        struct file_identity identity;
        uint64_t used_ns; /* CLOCK_MONOTONIC */
    } files[PINNED_FILES_MAX];
    size_t count;
};

void pinned_files_deinit(struct pinned_files *p);
/* Pins the file @fd (borrowed), which is mapped at @m. Does nothing if users other than root can
 * write to it, or if maps files and fstat() show different numbers. On btrfs fstat() alone shows
 * the device of a subvolume, and subvolumes share inode numbers. If all places are taken, closes
 * the least recently used file. */
void pinned_files_add(struct pinned_files *p, int fd, const struct mapping *m,
                      const struct file_identity *identity, uint64_t now_ns);
/* Gets the identity of the file mapped at @m. Return: false if it is not pinned, or was changed. */
bool pinned_files_find(struct pinned_files *p, const struct mapping *m, uint64_t now_ns,
                       struct file_identity *ret);
/* Closes the files that were last used PINNED_FILES_NS ago or earlier. */
void pinned_files_release(struct pinned_files *p, uint64_t now_ns);
