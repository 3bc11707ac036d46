/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the kernel keeps for a program with each task (BPF_MAP_TYPE_TASK_STORAGE). Linux 7.2
 * can allocate it only with the instruction cmpxchg16b, which emulated processors may lack.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct bpf_map;

/* Returns true if the processor has that instruction. The kernel needs it to allocate where a
 * program may have interrupted any code (kmalloc_nolock()), and for task work. Thread: any. */
bool task_memory_has_instruction(void);
/* Checks by a test that tasks get memory in @map, which is loaded. 0; -EOPNOTSUPP or another
 * -errno, with @err. Thread: any. */
int task_memory_check(const struct bpf_map *map, struct error *err);
