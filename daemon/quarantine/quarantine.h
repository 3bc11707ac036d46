/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose memory flamed does not read, because flamed had to be started again. Either a reading of it
 * did not come back (proc/stall_readers.h), or the engine stood at it (proc/looking.h). Owners, as
 * proc_owner() tells them: all of a container, or of a user. Each is noted for an hour, a line
 * each, so that the next flamed knows. The first line is the key of their numbers. The notes are in
 * memory that the supervisor keeps from one worker to the next. Under systemd they are in a file
 * that ends with the machine's run. Neither waits for a disk.
 */
#pragma once

#include "proc/proc.h"

#define QUARANTINE_MAX 32 /* the oldest goes */
#define QUARANTINE_SECONDS 3600
#define QUARANTINE_BYTES 4096 /* of the notes, which are NULs from their end on */

struct quarantined {
    uint64_t owner;   /* as proc_owner() */
    uint64_t until_s; /* wall clock */
    struct proc_id id;
    bool jvm; /* @id is one: memory of it was being read */
};

struct quarantine {
    int proc_fd;                /* borrowed */
    struct fingerprint_key key; /* of the owners' numbers: the next flamed is to use it, too */
    struct quarantined list[QUARANTINE_MAX];
    size_t count;
};

/* Opens the notes, the file @path, and makes it if there is none. The fd is the caller's. Return: 0
 * or -errno (-EPERM: somebody else's, or no regular file). */
int quarantine_open(const char *path, int *ret_fd);
/* Reads what is noted in @fd (-1: nothing) and still holds. The key is that of the notes, or else
 * of this program. Borrows @proc_fd. */
void quarantine_load(int fd, int proc_fd, struct quarantine *ret);
/* Adds a note of @owner, because of a reading of process @id. Return: 0 or -errno. */
int quarantine_add(int fd, uint64_t owner, const struct proc_id *id, bool jvm);
/* Finds the note that holds for @id at this moment. Points into @l; NULL: there is none. Thread:
 * any. */
const struct quarantined *quarantine_find(const struct quarantine *l, const struct proc_id *id);
/* Counts the notes that hold at this moment. Thread: any. */
size_t quarantine_count(const struct quarantine *l);
