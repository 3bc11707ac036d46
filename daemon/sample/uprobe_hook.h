/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of a process (uprobe.h) as a hook: a worker puts them, and takes them out. Inside
 * flamed-broker only. */
#pragma once

#include "sample/hook.h"
#include "sample/uprobe.h"

#define UPROBE_PLACES_MAX 32

/* A file of a process. All borrowed. */
struct uprobe_target {
    int32_t pid;
    int pidfd; /* of it; -1: nobody asks whether it was that one */
    int fd;    /* of the file */
};

/* Has the program of fd @program called at @places of @target, at most UPROBE_PLACES_MAX, as
 * uprobes_attach() says. If the process has ended by then, another may have its number: none stays.
 * 0 and *ret, as hook_new() gives it, or -errno. */
int uprobe_hook(const struct hook_worker *by, const struct uprobe_way *way, int program,
                const struct uprobe_target *target, const struct uprobe_place *places, size_t count,
                struct hook **ret);
/* Returns whether @h is for the same process, file and @places, but for cookies. */
bool uprobe_hook_is(const struct hook *h, const struct uprobe_target *target,
                    const struct uprobe_place *places, size_t count);
/* Returns how many places @h has; NULL: 0. */
size_t uprobe_hook_count(const struct hook *h);
