/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of one JVM's threads as Java knows them ("http-nio-8080-exec-1", where the kernel keeps
 * 15 bytes), by the thread's id on the host. Thread: the engine's.
 */
#pragma once

#include "hotspot/hotspot.h"
#include "proc/proc.h"
#include "profile/frame.h"

#define THREADS_LIST_MIN_NS (250 * NSEC_PER_MSEC) /* between two readings of the VM's list */
/* How long a name is not looked up again. That a thread has none is doubled each time, up to
 * THREADS_AGREED_NS: the VM's own threads and those of libraries never have one. */
#define THREADS_TRUST_NS (5 * NSEC_PER_SEC)
/* The same where the kernel's name agrees with it: a thread that renames itself changes both. */
#define THREADS_AGREED_NS (60 * NSEC_PER_SEC)
/* The same of a name that is longer than the kernel's, which does not tell of its end. Once that
 * has long been the same it is doubled each time, up to THREADS_AGREED_NS. */
#define THREADS_CUT_NS NSEC_PER_SEC

struct thread_names;

int thread_names_new(struct frame_table *frames, struct thread_names **ret);
struct thread_names *thread_names_free(struct thread_names *t);
/*
 * The interned clean name of @host_tid, or 0: not a thread that Java knows. @vm may be NULL (gone).
 * @proc_fd: of /proc, used where @ns_depth > 1 to learn the id that the JVM itself uses; -1: not to
 * be had.
 */
uint32_t thread_names_get(struct thread_names *t, struct hotspot_vm *vm, int proc_fd,
                          int32_t host_pid, size_t ns_depth, int32_t host_tid, const char *comm,
                          uint64_t now_ns);
