/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps and settings that the programs of sampler.h share with those loaded later. Runs inside
 * flamed-broker only; thread: any.
 */
#pragma once

#include "sample/hook.h"
#include "unwind/state.h" /* needed before the skeletons of the programs */

#define SAMPLER_SHARED_MAPS 9

struct bpf_object;

struct sampler_shared {
    int maps[SAMPLER_SHARED_MAPS]; /* owned fds; -1: none */
    uint32_t pid_ns_inum, max_words;
    int pins_fd;               /* borrowed; of uprobe_pins_open(); -1: none */
    struct hook_worker hooker; /* worker for hooks of these programs */
};

#define SAMPLER_SHARED_NONE                                                                        \
    ((struct sampler_shared){ .maps = { -1, -1, -1, -1, -1, -1, -1, -1, -1 }, .pins_fd = -1 })

/* Copies the fds of the maps of @from, which is loaded, into @ret; the caller fills in the
 * settings. 0 or -errno: then @ret holds none. */
int sampler_shared_copy(const struct bpf_object *from, struct sampler_shared *ret);
/* Makes @to, which is not loaded yet, use the maps of @s, which it borrows. 0 or -errno. */
int sampler_shared_use(const struct sampler_shared *s, struct bpf_object *to);
/* Returns whether the hash maps of programs allocate as they grow. */
bool sampler_shared_grows(const struct sampler_shared *s);
/* Closes the fds of @s. */
void sampler_shared_close(struct sampler_shared *s);

/* Returns the sum of @counter over all processors, from the per-CPU map @map_fd of numbers. 0: it
 * cannot be read. */
uint64_t sampler_counted(int map_fd, uint32_t counter);
/* Clears a program's memory of pcs: @known, [UNWIND_KNOWN_COUNT]. */
void sampler_forget(struct unwind_known *known);
