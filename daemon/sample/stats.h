/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of the BPF programs, as the broker reports them. */
#pragma once

#include <stdint.h>

struct sample_stats {
    uint64_t samples, lost_ring, lost_other;
    uint64_t lost_budget;   /* samples not taken, because they would have cost over a quarter of a
                             * processor */
    uint64_t hidden;        /* clock ticks in processes outside our pid namespace, while every
                             * process was wanted */
    uint64_t time_ns, runs; /* time_ns: spent in the programs, if the kernel counts it */
};
