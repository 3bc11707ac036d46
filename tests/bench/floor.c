/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor HZ: samples every CPU by cpu-clock at HZ with a BPF program that does nothing, until it is
 * killed. What remains is the timer interrupt itself: the least that any sampling by a timer can
 * cost.
 */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const struct bpf_insn code[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    union bpf_attr load;
    struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(event),
        .config = PERF_COUNT_SW_CPU_CLOCK,
    };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    long hz = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    int program;

    if (hz <= 0 || hz > 10000)
        return 2;
    memset(&load, 0, sizeof(load));
    load.prog_type = BPF_PROG_TYPE_PERF_EVENT;
    load.insns = (uint64_t)(uintptr_t)code;
    load.insn_cnt = sizeof(code) / sizeof(code[0]);
    load.license = (uint64_t)(uintptr_t) "GPL";
    program = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
    if (program < 0) {
        perror("bpf");
        return 1;
    }
    event.sample_period = (uint64_t)(1000000000 / hz);
    for (int cpu = 0; cpu < cpus; cpu++) {
        int fd = (int)syscall(SYS_perf_event_open, &event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

        if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0 ||
            ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
            perror("perf_event_open");
            return 1;
        }
    }
    puts("started");
    fflush(stdout);
    pause();
    return 0;
}
