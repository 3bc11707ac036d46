/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the BPF programs on a thread of its own, so that the broker can answer. The kernel's
 * verifier takes 0.3 s on a fast machine, and took 14 s on a slow one. Thread of every function:
 * the broker's main one.
 */
#pragma once

#include "base/error.h"
#include "sample/program.h"

struct loader;

/* Result of loader_take(): the programs are not loaded yet. */
#define LOADER_BUSY 1

/* Starts the thread by confined_thread_start(). 0 or -errno with @err. */
int loader_start(int (*confine)(struct error *err), struct loader **ret, struct error *err);

/* Requests a sampler; the arguments are those of sampler_new(). The result of an earlier request
 * must have been taken or dropped. */
void loader_ask(struct loader *l, int pid_ns_fd, size_t ring_bytes, uint32_t max_frames,
                bool bpf_only);

/* Takes the requested sampler, after a wait of at most @wait_ns. The caller repeats the call while
 * it returns LOADER_BUSY. Return: 0 and *ret, owned by the caller; LOADER_BUSY; -errno of
 * sampler_new() with @err. */
int loader_take(struct loader *l, uint64_t wait_ns, struct sampler **ret, struct error *err);

/* Requests the program @program of program.h. Takes ownership of @shared and closes it. */
void loader_ask_program(struct loader *l, enum event_program program,
                        const struct sampler_shared *shared);
/* Takes the requested program as loader_take() does, without waiting. */
int loader_take_program(struct loader *l, enum event_program program, void **ret,
                        struct error *err);

/* Returns true if a load that failed with @r may work later: memory, descriptors or time were
 * short. Other failures are properties of the kernel. */
bool loader_may_pass(int r);

/* Drops all requests. A sampler that is being loaded is freed afterwards. */
void loader_drop(struct loader *l);
