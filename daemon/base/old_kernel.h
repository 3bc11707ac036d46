/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: takes the paths of older kernels on a new one. flamed finds a kernel's features by
 * trying them. The environment variable FLAMED_OLD_KERNEL names features that it does not try, with
 * commas between them. "all" means all but "bpf", "uprobes" and "task_file". docs/kernels.md lists
 * them. Thread: any.
 */
#pragma once

#include "base/macros.h"

/* Returns whether flamed has to treat @feature as missing. */
bool old_kernel_pretended(const char *feature);
/* Returns the seconds that are added to the loading of BPF programs, as on a slow machine: the
 * number in FLAMED_SLOW_LOAD, 0 without it. */
unsigned old_kernel_load_s(void);
/* Returns the seconds that are added to each hook (sample/hook.h) that is put or taken out:
 * FLAMED_SLOW_HOOKS. */
unsigned old_kernel_hook_s(void);
