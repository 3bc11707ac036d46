/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the unwinder's tables filled: decides which processes it must know, and when to read their
 * mappings again. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "discover/discover.h"
#include "sample/sample_abi.h"

struct unwinding;
struct memory_budget;

/* Borrows @b, @memory, and the eventfd @wake_fd, which is written to when unwinding_poll() has
 * work. Returns 0 or -ENOMEM. */
int unwinding_new(struct broker *b, int wake_fd, struct memory_budget *memory,
                  struct unwinding **ret);
struct unwinding *unwinding_free(struct unwinding *u);

/* Describes a process that will be sampled, unless it is described already. Waits for its files,
 * but no longer than 200 ms after @now_ns. */
void unwinding_prepare(struct unwinding *u, struct process *p, uint64_t now_ns);
/* Begins to describe @p, unless it is described already. Does not wait. Returns whether some of its
 * files are still being read. */
bool unwinding_begin(struct unwinding *u, struct process *p, uint64_t now_ns);
/* Describes the JVM @p again until the layout of frozen frames is described; paced as
 * unwinding_see(). Returns whether that is done. */
bool unwinding_frozen(struct unwinding *u, struct process *p, uint64_t now_ns);
/* Describes @p again after it has mapped a file; waits as unwinding_prepare() does. */
void unwinding_again(struct unwinding *u, struct process *p, uint64_t now_ns);
/* Takes over files that were read since, and describes the processes that waited for them. */
void unwinding_poll(struct unwinding *u, struct discover *d, uint64_t now_ns);
/* Looks at a sample of @p, and describes @p (again) if its walk ended for want of a table. Does so
 * at most once in 100 ms for each process, later more rarely. @asked_for: a capture wants the
 * process; otherwise it must be a JVM or be sampled often. */
void unwinding_see(struct unwinding *u, struct process *p, const struct sample_record *rec,
                   const uint64_t *frames, bool asked_for, uint64_t now_ns);
/* Returns the description of @p if it is of the process image in @rec, else NULL. Points into @u
 * until its next call. */
const struct unwind_process *unwinding_process(const struct unwinding *u, const struct process *p,
                                               const struct sample_record *rec);
/* Returns how many executable mappings of @host_pid the description lacks, for want of room. */
size_t unwinding_left_out(const struct unwinding *u, int32_t host_pid);
/* Returns whether @id, or the rows of its files, found no room in the share of its owner. */
bool unwinding_has_no_room(struct unwinding *u, const struct proc_id *id);
/* Returns how often any process or rows found no room. */
uint64_t unwinding_refused(const struct unwinding *u);
/* Returns how many executable mappings the descriptions of all processes lack. */
uint64_t unwinding_all_left_out(const struct unwinding *u);
/* Forgets @p, which has exited or is not sampled any more. */
void unwinding_forget(struct unwinding *u, const struct process *p);
