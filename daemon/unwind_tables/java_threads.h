/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the unwinder the address of a thread's JavaThread once a walk has needed it. Only threads
 * that run native code without unwind rules are ever looked up. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "discover/discover.h"
#include "sample/sample_abi.h"

struct anchors;

/* Borrows @b; @proc_fd: of /proc, borrowed. 0 or -ENOMEM. */
int anchors_new(struct broker *b, int proc_fd, struct anchors **ret);
struct anchors *anchors_free(struct anchors *a);

/* A sample of @p with SAMPLE_WANTS_THREAD. The VM's list of threads is read at most once a second
 * and process. */
void anchors_see(struct anchors *a, struct process *p, const struct sample_record *rec,
                 uint64_t now_ns);
void anchors_forget(struct anchors *a, const struct process *p);
