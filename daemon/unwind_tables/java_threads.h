/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the BPF programs the addresses of JavaThreads. After a walk needed the JavaThread of a
 * thread (in native code without unwind rules), that thread is looked up. If locks are sampled, all
 * threads of the process are looked up. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "discover/discover.h"
#include "sample/sample_abi.h"

struct anchors;

/* Borrows @b and @proc_fd, a descriptor of /proc. Returns 0 or -ENOMEM. */
int anchors_new(struct broker *b, int proc_fd, struct anchors **ret);
struct anchors *anchors_free(struct anchors *a);

/* Looks up the thread of @rec, a sample of @p with SAMPLE_WANTS_THREAD. The VM's list of threads is
 * read at most once a second for each process. */
void anchors_see(struct anchors *a, struct process *p, const struct sample_record *rec,
                 uint64_t now_ns);
/* Looks up all threads of @p, within the same limit. Threads that started since the last reading
 * stay unknown until the next reading. */
void anchors_all(struct anchors *a, struct process *p, uint64_t now_ns);
/* Returns the JavaThread of thread @host_tid of @p; 0: not known. The thread may have ended since
 * the VM's list was read: sets *ret_ns_tid to the id that the JavaThread must still have. */
uint64_t anchors_thread(struct anchors *a, const struct process *p, int32_t host_tid,
                        int32_t *ret_ns_tid);
void anchors_forget(struct anchors *a, const struct process *p);
