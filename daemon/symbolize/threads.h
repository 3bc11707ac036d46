/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java names of one JVM's threads ("http-nio-8080-exec-1", where the kernel keeps 15 bytes), by
 * the thread's id on the host. Thread: the engine's.
 */
#pragma once

#include "hotspot/hotspot.h"
#include "proc/proc.h"
#include "profile/frame.h"

#define THREADS_LIST_MIN_NS (250 * NSEC_PER_MSEC) /* between two readings of the VM's list */
/* How long a name is trusted. For a thread without a name the time doubles, up to
 * THREADS_AGREED_NS: threads of the VM itself and of libraries never get one. */
#define THREADS_TRUST_NS (5 * NSEC_PER_SEC)
/* How long a name is trusted that equals the kernel's name. A thread that renames itself changes
 * both names. If another thread renames it, the kernel's name stays (JVM_SetNativeThreadName, JDK 8
 * to 25). */
#define THREADS_AGREED_NS (60 * NSEC_PER_SEC)
/* How long a name is trusted that begins with the kernel's name but is longer, because the kernel
 * cuts its own. If the name stays the same, the time is doubled each time, up to THREADS_AGREED_NS.
 */
#define THREADS_CUT_NS NSEC_PER_SEC

struct thread_names;

int thread_names_new(struct frame_table *frames, struct thread_names **ret);
struct thread_names *thread_names_free(struct thread_names *t);
/*
 * Returns the interned clean name of @host_tid, or 0 if the thread is no Java thread. @vm is NULL
 * after the VM's end. @proc_fd: /proc, used if @ns_depth > 1 to find the thread's id in the JVM's
 * pid namespace; -1: not available.
 */
uint32_t thread_names_get(struct thread_names *t, struct hotspot_vm *vm, int proc_fd,
                          int32_t host_pid, size_t ns_depth, int32_t host_tid, const char *comm,
                          uint64_t now_ns);
