/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of the file behind an open descriptor, in the state after its last change. Device
 * and inode are not enough: a file system reuses the inode of a removed file. The kernel gives the
 * device number of an unmounted file system to the next mount. Knows no process. Thread: any.
 */
#pragma once

#include "base/macros.h"

/* The kernel's clock for files has steps of up to 10 ms. A file that changed less than this ago may
 * change once more and still keep its time of change. */
#define FILE_IDENTITY_SETTLED_NS (20 * NSEC_PER_MSEC)

/* One file in the state after one change. Fields that its file system does not report are 0. */
struct file_identity {
    uint64_t device, inode; /* inode 0: no file */
    uint64_t bytes;
    uint64_t changed_ns, born_ns; /* CLOCK_REALTIME; no system call can set these to another time */
    uint64_t handle; /* hash of the kernel's file handle, with the inode's generation */
};

/* Gets the identity of the file of @fd. Returns false if there is none, if it cannot be read, or if
 * the file changed less than FILE_IDENTITY_SETTLED_NS ago. Then *ret stands for no file. Does not
 * block for files of the file systems that flamed-broker opens. */
bool file_identity_of(int fd, struct file_identity *ret);
/* Returns whether both are the same file in the same state. "No file" equals nothing. */
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);
