/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: takes the paths of older kernels on a new one. flamed finds a kernel's features by
 * trying them. The environment variable FLAMED_OLD_KERNEL names those that it does not try, as
 * words between commas, or "all": all but "bpf", "uprobes" and "task_file". docs/kernels.md lists
 * them. Thread: any.
 */
#pragma once

#include "base/macros.h"

/* Returns true if @feature is to be taken for missing. */
bool old_kernel_pretended(const char *feature);
/* Seconds that loading BPF programs is to take longer than it does, as on a slow machine: the
 * number in FLAMED_SLOW_LOAD, 0 without it. */
unsigned old_kernel_load_s(void);
/* Gets the same for each hook (sample/hook.h) that is put or taken out: FLAMED_SLOW_HOOKS. */
unsigned old_kernel_hook_s(void);
