/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often events of a set become samples. Shared by pick.bpf.h and its loaders. */
#pragma once

#include "sample/sample_abi.h"

/* pace_ns of a set that the kernel itself paces. The kernel then gives the value of each sample. */
#define PICK_PACE_KERNEL (~0ull)

/* Written by the loader before the set is wanted. */
struct pick_rate {
    SAMPLE_U64 interval; /* events per sample; 0 or 1: every event is sampled */
    SAMPLE_U64 pace_ns;  /* time between two samples of a processor, instead of the interval; 0:
                          * none */
    SAMPLE_U64 start;    /* number of the set's start: a new one resets the program's state */
};

/* Returns the cookie of a link for set @set, from its start number @start on. After the set ends,
 * the kernel may call an old link for some seconds, while the number of the set is in use again. */
#define PICK_COOKIE(set, start) ((SAMPLE_U64)(start)*STACK_SETS_MAX + (set))
#define PICK_COOKIE_SET(cookie) ((cookie) % STACK_SETS_MAX)
#define PICK_COOKIE_START(cookie) ((cookie) / STACK_SETS_MAX)
