/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a target's files for symbolize/: the broker, or, in tests, this machine's own
 * files. Each function as its namesake in broker_client/broker.h. Thread: the engine's.
 */
#pragma once

#include "base/error.h"
#include "proc/proc.h"

struct symbol_files {
    void *cookie;
    int (*maps)(void *cookie, const struct proc_id *id, int *ret_fd, struct error *err);
    int (*mapped)(void *cookie, const struct proc_id *id, uint64_t start, uint64_t end, int *ret_fd,
                  struct error *err);
    int (*debug)(void *cookie, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err);
    int (*debug_shared)(void *cookie, const struct proc_id *id, struct span name, int *ret_fd,
                        struct error *err);
    int (*debuglink)(void *cookie, const struct proc_id *id, uint64_t start, uint64_t end,
                     const char *basename, int *ret_fd, struct error *err);
    int (*perfmap)(void *cookie, const struct proc_id *id, int *ret_fd, struct error *err);
    int (*kallsyms)(void *cookie, int *ret_fd, struct error *err);
};
