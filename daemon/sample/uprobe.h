/* SPDX-License-Identifier: Apache-2.0 */
/* Probes in user space (uprobes), one link each. Inside flamed-broker only. */
#pragma once

#include "base/error.h"

struct bpf_link;
struct bpf_program;

/* The number that the kernel has for them as perf events. 0; -errno with @err where it has none. */
int uprobe_type(uint32_t *ret, struct error *err);
/* Has @program run where process @pid, and no other, comes to @offset of the file @fd. There is
 * none for a return: the kernel would change the target's stack. Linux 6.11 to 6.13 may then kill a
 * process that has a filter of system calls. @type: of uprobe_type(). 0 and *ret, which owns the
 * event; -errno with @err. */
int uprobe_attach(uint32_t type, struct bpf_program *program, int32_t pid, int fd, uint64_t offset,
                  uint64_t cookie, struct bpf_link **ret, struct error *err);
/* Takes it out. Waits for all processors: 10 ms, or 100 ms on a busy machine. Thread: any. */
void uprobe_detach(struct bpf_link *link);
