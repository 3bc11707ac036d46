/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes in user space (uprobes), at several places of one file. Each probe is a link: since Linux
 * 6.10 an uprobe_multi link, before that the link of a perf event. Inside flamed-broker only.
 *
 * A thread that is being killed cannot remove a probe. The kernel then fails to get the page,
 * leaves the breakpoint in place, and logs "leaking uprobe". So no thread of ours removes probes.
 * Links are pinned in a BPF file system that is mounted at no path. Once a pin is gone, a worker of
 * the kernel removes the probe. A pin goes when we remove it, or when the file system ends with our
 * process.
 */
#pragma once

#include "base/error.h"

struct bpf_program;
struct uprobes;

#define UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, missing in older headers */

/* The way in which this kernel puts probes. */
struct uprobe_way {
    uint32_t perf_type; /* for perf_event_open() */
    bool multi;         /* each probe is a link of its own kind */
    int pins_fd;        /* borrowed; of uprobe_pins_open(); -1: no pins */
};

struct uprobe_place {
    uint64_t offset; /* in the file */
    uint64_t cookie; /* for the program */
};

/* Makes the file system for pins. Called before the lockdown, and after the last fork: probes stay
 * as long as any process holds it open. Return: the fd of its root, for the caller to close; or
 * -errno, after which a breakpoint may stay if we are killed. Thread: any. */
int uprobe_pins_open(void);
/* Finds out how this kernel puts probes. 0; -errno with @err if it has none. @pins_fd: of
 * uprobe_pins_open(). Thread: any. */
int uprobe_find_way(int pins_fd, struct uprobe_way *ret, struct error *err);
/* Checks that this kernel has probes. 0; -errno with @err. Thread: any. */
int uprobe_check(struct error *err);
/* Prepares @program, before it is loaded, to run at probes that are put in this way. */
void uprobe_prepare(const struct uprobe_way *way, struct bpf_program *program);
/* Puts probes at @places of the file @fd, which run the program of fd @program in process @pid
 * alone. Return probes are not supported, because the kernel changes the target's stack for them.
 * With them, Linux 6.11 to 6.13 may kill a process that has a filter of system calls. 0 and *ret,
 * owned by the caller; -errno with @err and without any probe. */
int uprobes_attach(const struct uprobe_way *way, int program, int32_t pid, int fd,
                   const struct uprobe_place *places, size_t count, struct uprobes **ret,
                   struct error *err);
/* Removes all pinned probes without waiting: the kernel is done some 20 ms later, or 0.1 s later
 * for each perf event. Of the unpinned probes, removes one and waits for that. Returns false, and
 * frees @u, if no probe is left. Thread: any. */
bool uprobes_detach_some(struct uprobes *u);
/* Removes all, and frees @u, which may be NULL. Returns NULL. Thread: any. */
struct uprobes *uprobes_detach(struct uprobes *u);
