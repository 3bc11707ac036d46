/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose file system a file lies on. One that the kernel serves answers. One that a process serves
 * (a container's own FUSE, a server over the network) may never answer. To read, look at or even
 * close such a file then holds the caller, beyond SIGKILL. So no descriptor of it leaves the opener
 * (file_openers.h): what is handed out is a copy. So it is with a file in memory (memfd), which who
 * has a descriptor can open again for writing.
 */
#pragma once

#include "broker/target/target.h"

/* Returns whether @fd, of dependable_file(), is a copy, and not the file that the target has. */
bool dependable_is_copy(int fd);

#define COPY_MAX_BYTES (UINT64_C(64) << 20)
#define COPY_NS_MAX UINT64_C(2000000000)

/* Takes the open file @fd, called @what, of @t (NULL: of the host). *ret_fd: the file itself, or a
 * sealed copy. 0; -EFBIG: larger than COPY_MAX_BYTES; -ETIMEDOUT: not to be had in COPY_NS_MAX;
 * -errno. Blocks for as long as its file system likes. */
int dependable_file(int fd, const char *what, const struct target *t, int *ret_fd,
                    struct error *err);
