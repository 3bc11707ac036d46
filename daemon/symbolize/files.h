/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a target's files for symbolize/: the broker, or, in tests, this machine's own
 * files. Each function works like the one with the same name in broker_client/broker.h. Thread: the
 * engine's.
 */
#pragma once

#include "base/error.h"
#include "proc/proc.h"

struct broker;

struct symbol_files {
    void *cookie; /* passed to them in place of the broker */
    int (*maps)(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
    int (*mapped)(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                  int *ret_fd, struct error *err);
    int (*debug)(struct broker *b, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err);
    int (*debug_shared)(struct broker *b, const struct proc_id *id, struct span name, int *ret_fd,
                        struct error *err);
    int (*debuglink)(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const char *basename, int *ret_fd, struct error *err);
    int (*perfmap)(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
    int (*kallsyms)(struct broker *b, int *ret_fd, struct error *err);
};
