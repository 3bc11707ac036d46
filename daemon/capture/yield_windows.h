/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the waits of virtual threads of each JVM are sampled by probes, and not by looking: so no
 * time counts twice. Pure; thread: the owner's.
 */
#pragma once

#include "capture/probe/yields.h"
#include "sample/sample_abi.h"

struct yield_window {
    struct proc_id id;
    uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC; until_ns UINT64_MAX: it goes on */
    uint64_t cutoff_ns;         /* the same: later ends of waits are of waits that the look at the
                                 * end has counted; UINT64_MAX: none yet */
    uint32_t closing_no;        /* number of that look; 0: none */
};

struct yield_windows {
    struct yield_window of[YIELDS_MAX];
    uint32_t count;
};

/* Returns the window of process @host_pid; NULL: there is none. */
struct yield_window *yield_window_find(struct yield_windows *w, int32_t host_pid);
/* Returns the window of @id, or begins it at @from_ns. NULL: there is no room, or the number
 * belongs to an earlier process. */
struct yield_window *yield_window_begin(struct yield_windows *w, const struct proc_id *id,
                                        uint64_t from_ns);
/* Ends the window of the process with the number of @id at @at_ns if it is of an earlier image.
 * Returns whether there was one that went on. */
bool yield_window_replace(struct yield_windows *w, const struct proc_id *id, uint64_t at_ns);
/* Returns how much of the time from @from_ns to @to_ns a sample of a virtual thread may count.
 * @window: of its process, or NULL; @probed: the sample is of probes. */
uint64_t yield_window_part(const struct yield_window *window, bool probed, uint64_t from_ns,
                           uint64_t to_ns);
/* Returns whether a sample of probes counts: no look has counted it, and none of another capture
 * has made it. */
bool yield_window_takes(const struct yield_window *window, const struct sample_record *rec);
