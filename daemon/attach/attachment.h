/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attach to one JVM, shared by the captures that want it. The engine's thread begins it and
 * listens to it beside sampling, and never blocks for it. Thread: the engine's.
 */
#pragma once

#include "attach/attaching.h"
#include "attach/stream.h"
#include "helper/job.h"

enum attachment_state {
    ATTACHMENT_PLANNED,   /* begins when the JVM is old enough and its turn has come */
    ATTACHMENT_ATTACHING, /* the JVM was asked */
    ATTACHMENT_READY,     /* what was compiled is known; an agent tells on */
    ATTACHMENT_FAILED,    /* attachment_problem() says why */
};

struct attachment;

/* Plans an attach to @p, or shares one that is under way. NULL: no memory. Each take is released
 * once. */
struct attachment *attachment_take(struct attaching *at, const struct process *p, uint32_t mode);
struct attachment *attachment_release(struct attaching *at, struct attachment *a);
/* Takes one by an agent that samples allocation every @interval bytes, or more often if another
 * wants that. It is loaded as a memory file, and in no other way: only there a probe is put. */
struct attachment *attachment_take_sampling(struct attaching *at, const struct process *p,
                                            uint64_t interval);
/* Has such a one follow its objects, until attachment_leave_live(). */
void attachment_take_live(struct attachment *a);
void attachment_leave_live(struct attachment *a);
/* Copies what it follows, as stream_read_live() says; *ret_status: how far it was then. */
bool attachment_live(struct attachment *a, struct stream_live *ret,
                     struct stream_status *ret_status);
/* Returns of such a one how often is asked for, and how often it does now; bytes. */
void attachment_interval(const struct attachment *a, uint64_t *ret_asked, uint64_t *ret_now);
/* Returns the one that is under way to @id by an agent that tells of code; NULL: none. */
struct attachment *attachment_find(struct attaching *at, const struct proc_id *id);
/* Takes each a step further. To be called with every tick. */
void attachments_poll(struct attaching *at, uint64_t now_ns);

/* Returns how far it is. */
enum attachment_state attachment_state(const struct attachment *a);
/* Returns a sentence with its remedy. Points into @a. */
const struct error *attachment_problem(const struct attachment *a);
/* Points into @a, NULL: it is of the other kind, or not there yet. */
struct code_map *attachment_map(const struct attachment *a);
struct symbol_table *attachment_text(struct attachment *a);
/* In which way, as attach_way_text(). */
const char *attachment_way(const struct attachment *a);
/* Records for which there was no room, at either end. */
uint64_t attachment_dropped(const struct attachment *a);

/* STREAM_OPTION_* that are safe on @jdk. */
uint32_t attachment_options(int jdk);
/* Reads and checks the helper's result, and counts it. Return: 0; -EAGAIN: it was not this one's
 * turn yet; -errno with the sentence. Thread: any. */
int attachment_result(struct attaching *at, int result_fd, uint32_t mode, struct error *err);
/* Counts an attach that the broker refused with @error. Thread: any. */
void attachment_not_begun(struct attaching *at, int error);
/* Appends how attaches ended, as Prometheus text. Thread: any. */
void attachment_metrics(const struct attaching *at, struct buf *out);
/* Reads the JVM's own perf map. 0 or -errno. */
int attachment_read_text(int fd, struct symbol_table *ret);
