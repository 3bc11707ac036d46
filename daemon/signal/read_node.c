/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/read.h"

#include <unistd.h>

#define STAT_BYTES ((size_t)1 << 20) /* bytes of /proc/stat, which has long lines */
#define PRESSURE_BYTES 512
#define MEMINFO_BYTES 8192
#define NS_PER_TICK 1e7 /* USER_HZ is 100 wherever Linux runs a JVM */
#define KIB 1024.0
#define STEAL_FIELD 7 /* steal: after user, nice, system, idle, iowait, irq and softirq */

static void take_steal(struct span text, struct number_reading *r)
{
    struct span line, word;
    uint64_t ticks;

    if (!span_take_line(&text, &line) || !span_take_word(&line, &word))
        return;
    for (size_t i = 0; i < STEAL_FIELD; i++) {
        if (!span_take_word(&line, &word))
            return;
    }
    span_skip_blanks(&line);
    if (span_take_dec(&line, &ticks))
        r->v[NUMBER_NODE_STEAL_NS] = (double)ticks * NS_PER_TICK;
}

static void take_pressure(int proc_fd, const char *path, double *ret)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(PRESSURE_BYTES);

    if (buf_read_at(&b, proc_fd, path) == 0)
        read_pressure(buf_span(&b), ret);
}

static void take_memory(int proc_fd, struct number_reading *r)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(MEMINFO_BYTES);
    double kib, free_kib;

    if (buf_read_at(&b, proc_fd, "meminfo") != 0)
        return;
    if (read_field(buf_span(&b), "MemTotal:", &kib))
        r->v[NUMBER_NODE_MEMORY_BYTES] = kib * KIB;
    if (read_field(buf_span(&b), "MemAvailable:", &kib))
        r->v[NUMBER_NODE_AVAILABLE_BYTES] = kib * KIB;
    if (read_field(buf_span(&b), "SwapTotal:", &kib) &&
        read_field(buf_span(&b), "SwapFree:", &free_kib)) {
        r->v[NUMBER_NODE_SWAP_BYTES] = (kib - free_kib) * KIB;
        r->v[NUMBER_NODE_SWAP_FREE_BYTES] = free_kib * KIB;
    }
}

void read_node(int proc_fd, struct number_reading *r)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(STAT_BYTES);

    r->v[NUMBER_NODE_CPUS] = (double)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);
    if (buf_read_at(&b, proc_fd, "stat") == 0) {
        take_steal(buf_span(&b), r);
        read_field(buf_span(&b), "procs_running", &r->v[NUMBER_NODE_RUNNING]);
    }
    take_memory(proc_fd, r);
    take_pressure(proc_fd, "pressure/cpu", &r->v[NUMBER_NODE_CPU_PRESSURE_NS]);
    take_pressure(proc_fd, "pressure/memory", &r->v[NUMBER_MEMORY_PRESSURE_NS]);
}
