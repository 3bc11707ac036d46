/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out by experiments why the kernel refuses the BPF programs, and what the user can do.
 * Thread: any. Each has messages of its own.
 */
#pragma once

#include "base/error.h"

/* Records the messages that libbpf and the kernel's verifier have for this thread from now on. */
void refusal_watch(void);
/* Sets the sentence and the remedy for @r, the negative errno of a load after refusal_watch().
 * Returns @r. */
int refusal_explain(int r, struct error *err);
