/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the kernel refuses the BPF programs, found by trying, and what the user can do about it.
 * Thread: the one that loads; one at a time.
 */
#pragma once

#include "base/error.h"

/* Keeps from now on what libbpf and the kernel's verifier say. */
void refusal_watch(void);
/* Sets the sentence and the remedy for @r (negative errno) of loading since refusal_watch().
 * Returns
 * @r. */
int refusal_explain(int r, struct error *err);
