/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder's state, for the files of capture/ that read it. Thread: the engine's. */
#pragma once

#include "capture/capture_impl.h"
#include "profile/category.h"

#define RECORDER_JVMS_MAX DISCOVER_PROCESSES_MAX

struct recorded_jvm_key { /* no padding */
    uint64_t start_ticks;
    int32_t host_pid;
    uint32_t exec_no;
};

struct recorded_jvm {
    uint64_t samples[CATEGORY_COUNT + 1]; /* by category; 3 bits can say 7 */
};

struct recorder {
    struct flight *flight;
    uint64_t period_ns;
    uint32_t set;
    struct id_table jvms;          /* struct recorded_jvm_key */
    struct recorded_jvm *counters; /* [jvms.cap] */
    size_t counters_cap;
};
