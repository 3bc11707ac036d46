/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the file system of a file can be trusted to answer. A file system in the kernel answers.
 * One that is served by a process (a container's own FUSE, a network server) may never answer.
 * Reading, inspecting or even closing a file there can block the caller, and not even SIGKILL
 * helps. So descriptors of such files stay in the opener (file_openers.h), and the broker hands out
 * a copy. A file in memory (memfd) is also copied, because a holder of its descriptor can open it
 * again for writing.
 */
#pragma once

#include "broker/target/target.h"

/* Returns true if @fd, of dependable_file(), is a copy, and not the target's file. */
bool dependable_is_copy(int fd);

#define COPY_MAX_BYTES (UINT64_C(64) << 20)
#define COPY_NS_MAX UINT64_C(2000000000)

/* Takes the open file @fd, named @what in errors, of @t (NULL: of the host). *ret_fd: the file
 * itself, or a sealed copy. 0; -EFBIG: larger than COPY_MAX_BYTES; -ETIMEDOUT: the copy took longer
 * than COPY_NS_MAX; -errno. Blocks as long as the file system does not answer. */
int dependable_file(int fd, const char *what, const struct target *t, int *ret_fd,
                    struct error *err);
