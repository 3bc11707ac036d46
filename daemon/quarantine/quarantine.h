/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners with memory that flamed does not read, because reading it once forced a restart of flamed.
 * Either reads did not return (proc/stall_readers.h), or the engine's thread was stuck in a read
 * (proc/looking.h). An owner, as proc_owner() computes it, is a container or a user. The notes
 * outlive flamed: one line each, valid for an hour, behind a line with the key of the owners'
 * hashes. The key is also in the store's folder (store/owner_key.h). The notes are in memory that
 * the supervisor passes from worker to worker, or under systemd in a file on a tmpfs. So writing a
 * note never waits for a disk.
 */
#pragma once

#include "proc/proc.h"

#define QUARANTINE_MAX 32 /* at this limit the oldest note is dropped */
#define QUARANTINE_SECONDS 3600
#define QUARANTINE_BYTES 4096 /* of all notes; NULs fill the rest */

struct quarantined {
    uint64_t owner;   /* result of proc_owner() */
    uint64_t until_s; /* wall clock */
    struct proc_id id;
    bool jvm; /* @id is a JVM: its memory was being read */
};

struct quarantine {
    int proc_fd;                /* borrowed */
    struct fingerprint_key key; /* of the owners' hashes: the next flamed must use it, too */
    struct quarantined list[QUARANTINE_MAX];
    size_t count;
};

/* Opens or creates the file @path. Returns 0 with an fd that the caller owns, or -errno (-EPERM:
 * @path is not a regular file of this user). */
int quarantine_open(const char *path, int *ret_fd);
/* Reads the notes in @fd (-1: none) that are in force. Takes the key of the notes, or makes a new
 * one. Borrows @proc_fd. */
void quarantine_load(int fd, int proc_fd, struct quarantine *ret);
/* Writes @key in front of the notes in @fd that are in force. Return: 0 or -errno. */
int quarantine_keep_key(int fd, const struct fingerprint_key *key);
/* Adds a note against @owner for a read of process @id. Return: 0 or -errno. */
int quarantine_add(int fd, uint64_t owner, const struct proc_id *id, bool jvm);
/* Returns the note in force against the owner of @id, in @l; NULL: none. Thread: any. */
const struct quarantined *quarantine_find(const struct quarantine *l, const struct proc_id *id);
/* Returns how many notes are in force. Thread: any. */
size_t quarantine_count(const struct quarantine *l);
