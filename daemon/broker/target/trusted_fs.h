/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file system of a file. One that the kernel serves answers. One that a process serves (a
 * container's own FUSE, a server over the network) may never answer. Reading, inspecting or even
 * closing such a file then blocks the caller, beyond SIGKILL. So no descriptor of it leaves the
 * opener (file_openers.h): the broker hands out a copy. It also copies a file in memory (memfd),
 * because a holder of its descriptor can open it again for writing.
 */
#pragma once

#include "broker/target/target.h"

/* Returns true if @fd, of dependable_file(), is a copy, and not the target's file. */
bool dependable_is_copy(int fd);

#define COPY_MAX_BYTES (UINT64_C(64) << 20)
#define COPY_NS_MAX UINT64_C(2000000000)

/* Takes the open file @fd, named @what in errors, of @t (NULL: of the host). *ret_fd: the file
 * itself, or a sealed copy. 0; -EFBIG: larger than COPY_MAX_BYTES; -ETIMEDOUT: the copy took longer
 * than COPY_NS_MAX; -errno. Blocks for as long as its file system likes. */
int dependable_file(int fd, const char *what, const struct target *t, int *ret_fd,
                    struct error *err);
