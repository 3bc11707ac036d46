/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: takes the paths of older kernels on a new one. flamed finds a kernel's features by
 * trying them. It does not try the features named in the environment variable FLAMED_OLD_KERNEL,
 * with commas between them. "all" means all but "bpf", "uprobes" and "task_file". docs/kernels.md
 * lists them. Thread: any.
 */
#pragma once

#include "base/macros.h"

/* Returns whether flamed has to treat @feature as missing. */
bool old_kernel_pretended(const char *feature);
/* Returns by how many seconds flamed delays the loading of BPF programs, as on a slow machine: the
 * number in FLAMED_SLOW_LOAD, or 0 without it. */
unsigned old_kernel_load_s(void);
/* Returns by how many seconds flamed delays adding or removing a hook (sample/hook.h): the number
 * in FLAMED_SLOW_HOOKS, or 0 without it. */
unsigned old_kernel_hook_s(void);
