/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often the events of a set become samples: what pick.bpf.h and its loaders share. */
#pragma once

#include "sample/sample_abi.h"

/* Of a set whose pace the kernel keeps: it says what each sample stands for. */
#define PICK_PACE_KERNEL (~0ull)

/* Written by the loader before the set is wanted. */
struct pick_rate {
    SAMPLE_U64 interval; /* one event of so many; 0 or 1: each */
    SAMPLE_U64 pace_ns;  /* between two samples of a processor instead; 0: as the interval says */
    SAMPLE_U64 start;    /* number of its start: another one forgets what was */
};
