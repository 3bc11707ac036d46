/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the unwinder's tables filled: which processes it must know, and when their mappings are to
 * be read again. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "discover/discover.h"
#include "sample/sample_abi.h"

struct unwinding;
struct memory_budget;

/* Borrows @b, @memory, and the eventfd @wake_fd, which is written to when unwinding_poll() has
 * something to do. 0 or -ENOMEM. */
int unwinding_new(struct broker *b, int wake_fd, struct memory_budget *memory,
                  struct unwinding **ret);
struct unwinding *unwinding_free(struct unwinding *u);

/* Describes a process that will be sampled, unless that was done. Waits for its files, but no
 * longer than 200 ms after @now_ns. */
void unwinding_prepare(struct unwinding *u, struct process *p, uint64_t now_ns);
/* Begins to describe it, unless that was done, and waits for nothing. Returns whether some of its
 * files are still being read. */
bool unwinding_begin(struct unwinding *u, struct process *p, uint64_t now_ns);
/* Describes it again, as it has mapped a file since; waits as unwinding_prepare(). */
void unwinding_again(struct unwinding *u, struct process *p, uint64_t now_ns);
/* Takes in files that were read since, and describes the processes that waited for them. */
void unwinding_poll(struct unwinding *u, struct discover *d, uint64_t now_ns);
/* Takes a sample of @p: reads its mappings (again) when the walk ended for want of a table. At most
 * once in 100 ms and process. @asked_for: a capture wants it; else it must be a JVM or be met
 * often. */
void unwinding_see(struct unwinding *u, struct process *p, const struct sample_record *rec,
                   const uint64_t *frames, bool asked_for, uint64_t now_ns);
/* Returns what the unwinder knows of @p, as of its sample @rec; NULL: nothing yet, or of an earlier
 * image. Points into @u until its next call. */
const struct unwind_process *unwinding_process(const struct unwinding *u, const struct process *p,
                                               const struct sample_record *rec);
/* Returns how many executable mappings of @host_pid the unwinder does not know, for want of room.
 */
size_t unwinding_left_out(const struct unwinding *u, int32_t host_pid);
/* Returns whether @id, or rows of its files, found no room in the share of its owner. */
bool unwinding_has_no_room(struct unwinding *u, const struct proc_id *id);
/* Returns how often that was so, of all. */
uint64_t unwinding_refused(const struct unwinding *u);
/* Returns how many executable mappings it does not know, of all processes that it knows. */
uint64_t unwinding_all_left_out(const struct unwinding *u);
/* @p is not sampled any more, or gone. */
void unwinding_forget(struct unwinding *u, const struct process *p);
