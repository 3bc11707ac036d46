/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the hierarchies of control groups are mounted on the host: that of version 2, those of
 * version 1 by their controllers, or both (hybrid). Thread: the broker's, or an opener's.
 */
#pragma once

#include "broker/target.h"

/* Opens the folder (O_PATH) that @line's hierarchy is mounted on; *ret_path is what of the line's
 * path lies below it. -ENOENT: it is mounted nowhere, or the path leads outside of what is. */
int cgroup_open_mount(const struct server *s, const struct cgroup_line *line, struct span *ret_path,
                      int *ret_fd);
