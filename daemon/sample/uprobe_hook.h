/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of a process (uprobe.h) as a hook: a worker puts them in, and takes them out. Inside
 * flamed-broker only.
 */
#pragma once

#include "sample/hook.h"
#include "sample/uprobe.h"

#define UPROBE_PLACES_MAX 32

/* A process and its file to probe. All borrowed. */
struct uprobe_target {
    int32_t pid;
    int pidfd; /* pidfd of the process; -1: its identity is not checked */
    int fd;    /* of the file */
};

/* Makes a hook that calls the program of fd @program at @places of @target, at most
 * UPROBE_PLACES_MAX, by uprobes_attach(). If another process has got its pid in the meantime, no
 * probe stays. 0 and *ret of hook_new(), or -errno. */
int uprobe_hook(const struct hook_worker *by, const struct uprobe_way *way, int program,
                const struct uprobe_target *target, const struct uprobe_place *places, size_t count,
                struct hook **ret);
/* Returns true if @h is for the same process, file and @places; cookies may differ. */
bool uprobe_hook_is(const struct hook *h, const struct uprobe_target *target,
                    const struct uprobe_place *places, size_t count);
/* Returns the number of @h's places; NULL: 0. */
size_t uprobe_hook_count(const struct hook *h);
