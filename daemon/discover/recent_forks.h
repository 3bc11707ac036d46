/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that were forked or exec'ed a moment ago and have no entry in the table. Most end
 * within a second, so each gets a note of 32 bytes here. Only those that live on get an entry.
 *
 * A note is at its pid modulo the size. A note of a newer process overwrites an older note there;
 * the next sweep of /proc finds the older process. Pure; thread: the owner's.
 */
#pragma once

#include "base/macros.h"

#define RECENT_NOTES 8192 /* a power of two */

struct recent_note {
    int32_t host_pid; /* 0: free */
    uint32_t execs;   /* execs seen since the fork, or since the note was made */
    uint64_t fork_ns; /* 0: not seen */
    uint64_t exec_ns; /* time of the last exec; 0: none */
    uint64_t due_ns;  /* when it is old enough for an entry */
};

struct recent_due {
    int32_t host_pid;
    uint64_t due_ns;
};

struct recent {
    struct recent_note notes[RECENT_NOTES];
    struct recent_due queue[RECENT_NOTES]; /* sorted by time */
    uint32_t head, tail;                   /* positions in queue; they only grow */
    uint64_t missed;                       /* overwritten notes: a sweep is needed */
};

/* Store a fork or an exec in a note, or drop the note. @due_ns: when the process gets an entry if
 * it still lives. */
void recent_fork(struct recent *r, int32_t host_pid, uint64_t time_ns, uint64_t due_ns);
void recent_exec(struct recent *r, int32_t host_pid, uint64_t time_ns, uint64_t due_ns);
void recent_forget(struct recent *r, int32_t host_pid);
/* Returns the note on @host_pid, or NULL. Points into @r. */
const struct recent_note *recent_find(const struct recent *r, int32_t host_pid);
/* Returns the next pid with a note that is due at @now_ns; the note stays. 0: none. */
int32_t recent_take_due(struct recent *r, uint64_t now_ns);
