/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in memory that the broker made and gave to flamed: copies of files and lists of names.
 * Their pages are charged to the broker for as long as flamed has them open. flamed has limits of
 * its own for them, but a compromised flamed could keep thousands. So the broker gives no more
 * while flamed has too many. It knows by leases which files are closed. A lease does not see an
 * open with O_PATH, which flamed's filter forbids (sandbox.c). Where leases are off
 * (fs.leases-enable), no file counts. Thread: one at a time.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

#define GIVEN_BYTES_MAX (UINT64_C(192) << 20)
/* Late answers of openers are kept within this limit. One owner's slow files, 64 MiB each, would
 * otherwise leave no memory for lists and copies of others. */
#define GIVEN_LATE_BYTES_MAX (GIVEN_BYTES_MAX / 2)
#define GIVEN_FILES_MAX 1024

struct given {
    struct given_file {
        int fd; /* our own, so that a lease shows whether another one is open */
        uint64_t bytes;
    } files[GIVEN_FILES_MAX];
    size_t count;
    uint64_t bytes;
};

/* Counts those of the @n descriptors @fds that are such files, and replaces each of them by one
 * that is only open for reading. 0; -EDQUOT with @err: with them flamed would have more than
 * @max_bytes, or too many files, so none may be given; -errno with @err. */
int given_take(struct given *g, int *fds, size_t n, uint64_t max_bytes, struct error *err);
/* Forgets the files that only the broker has open, which frees their memory. */
void given_forget_closed(struct given *g);
void given_deinit(struct given *g);
