/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attach to one JVM, shared by the captures that want it. The engine's thread begins it and
 * polls it, and never blocks for it. Thread: the engine's.
 */
#pragma once

#include "attach/attaching.h"
#include "attach/stream.h"
#include "helper/job.h"

enum attachment_state {
    ATTACHMENT_PLANNED,   /* begins when the JVM is old enough and its turn has come */
    ATTACHMENT_ATTACHING, /* the broker has begun it */
    ATTACHMENT_READY,     /* the code compiled so far is known; an agent reports further code */
    ATTACHMENT_FAILED,    /* attachment_problem() says why */
};

struct attachment;

/* Plans an attach to @p, or shares one that is under way. NULL: no memory. Release the result once
 * for each call. */
struct attachment *attachment_take(struct attaching *at, const struct process *p, uint32_t mode);
struct attachment *attachment_release(struct attaching *at, struct attachment *a);
/* Plans or shares an attach of an agent that samples allocation every @interval bytes, or more
 * often if another capture wants that. This agent is only loaded from a memory file, as flamed
 * probes no other file. */
struct attachment *attachment_take_sampling(struct attaching *at, const struct process *p,
                                            uint64_t interval);
/* Makes a sampling agent follow its objects, until attachment_leave_live(). */
void attachment_take_live(struct attachment *a);
void attachment_leave_live(struct attachment *a);
/* Copies the table of followed objects, as stream_read_live(); *ret_status: the agent's state
 * then. */
bool attachment_live(struct attachment *a, struct stream_live *ret,
                     struct stream_status *ret_status);
/* Gets the interval that flamed requested from a sampling agent, and the agent's current interval,
 * in bytes. */
void attachment_interval(const struct attachment *a, uint64_t *ret_asked, uint64_t *ret_now);
/* Returns the present attach to @id by an agent that reports code; NULL: none. */
struct attachment *attachment_find(struct attaching *at, const struct proc_id *id);
/* Advances each attach by a step. Call it at each tick. */
void attachments_poll(struct attaching *at, uint64_t now_ns);

/* Returns the state of @a. */
enum attachment_state attachment_state(const struct attachment *a);
/* Returns why @a has failed, as a sentence with the remedy. Points into @a. */
const struct error *attachment_problem(const struct attachment *a);
/* Return the code map or the JVM's own perf map; point into @a. NULL: @a has the other map, or none
 * yet. */
struct code_map *attachment_map(const struct attachment *a);
struct symbol_table *attachment_text(struct attachment *a);
/* Returns how the agent was delivered, as attach_way_text(). */
const char *attachment_way(const struct attachment *a);
/* Returns the number of records that were dropped for want of room, at both ends. */
uint64_t attachment_dropped(const struct attachment *a);

/* Returns the STREAM_OPTION_* that are safe on @jdk. */
uint32_t attachment_options(int jdk);
/* Reads, checks and counts the helper's result. Return: 0; -EAGAIN: other attaches came first;
 * -errno with the sentence. Thread: any. */
int attachment_result(struct attaching *at, int result_fd, uint32_t mode, struct error *err);
/* Counts an attach that the broker refused with @error. Thread: any. */
void attachment_not_begun(struct attaching *at, int error);
/* Appends the counts of attaches by how they ended, as Prometheus text. Thread: any. */
void attachment_metrics(const struct attaching *at, struct buf *out);
/* Reads the JVM's own perf map. Returns 0 or -errno. */
int attachment_read_text(int fd, struct symbol_table *ret);
