/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lost samples by set and process, as the BPF programs count them and flamed reads them.
 * Fixed-width, no padding; shared by both.
 */
#pragma once

#include "sample/sample_abi.h"

/* Pairs of a set and a process that are counted at a time. Losses of further pairs are only in the
 * program's counters. flamed takes the counts out once a second. */
#define LOSSES_MAX 4096

struct loss_key {
    SAMPLE_U64 start_boottime_ns; /* of the process, as in a sample */
    SAMPLE_U32 host_pid, set;
};

struct loss_count {
    SAMPLE_U64 unread; /* samples lost because the ring was full or memory was missing */
    SAMPLE_U64 costly; /* samples not taken because they would have exceeded the budget */
};

struct loss {
    struct loss_key of;
    struct loss_count count;
};

#ifndef __bpf__
_Static_assert(sizeof(struct loss) == 32, "loss must have no padding");
#endif
