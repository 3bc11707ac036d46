/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes in user space (uprobes), at several places of one file at once. Since Linux 6.10 they are
 * one link (uprobe_multi): the kernel then waits once for all processors to take them out. Before,
 * each is a perf event with a link, and the kernel waits for each. Inside flamed-broker only.
 */
#pragma once

#include "base/error.h"

struct bpf_program;
struct uprobes;

/* How this kernel has them put. */
struct uprobe_way {
    uint32_t perf_type; /* of perf_event_open() */
    bool multi;         /* as one link */
};

struct uprobe_place {
    uint64_t offset; /* in the file */
    uint64_t cookie; /* for the program */
};

/* Finds that out. 0; -errno with @err where it has none. Thread: any. */
int uprobe_find_way(struct uprobe_way *ret, struct error *err);
/* To be called before @program is loaded: it runs at probes that are put in this way. */
void uprobe_prepare(const struct uprobe_way *way, struct bpf_program *program);
/* Has @program run where process @pid, and no other, comes to one of @places of the file @fd. There
 * is none for a return: the kernel would change the target's stack. Linux 6.11 to 6.13 may then
 * kill a process that has a filter of system calls. 0 and *ret, owned by the caller; -errno with
 * @err, and there is no probe. */
int uprobes_attach(const struct uprobe_way *way, struct bpf_program *program, int32_t pid, int fd,
                   const struct uprobe_place *places, size_t count, struct uprobes **ret,
                   struct error *err);
size_t uprobes_count(const struct uprobes *u);
/* Takes out what takes one waiting for all processors: all of one link, or one perf event. That
 * takes 20 ms to 200 ms. Returns false if that was the last, and frees @u. Thread: any. */
bool uprobes_detach_some(struct uprobes *u);
/* Takes all out, and frees @u, which may be NULL. Returns NULL. Thread: any. */
struct uprobes *uprobes_detach(struct uprobes *u);
