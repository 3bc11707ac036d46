/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file in which Datadog's tracer names the service of its process. It is a memfd that the
 * process keeps open; its name begins with datadog-tracer-info-. Another file that the process
 * presents in its place is refused unless the process's user could read it. Thread: any; may block
 * on files of the target.
 */
#pragma once

#include "broker/target/target.h"

#define TRACER_FILE_BYTES_MAX ((size_t)16 << 10)
#define TRACER_FILE_LOOKS_MAX 4096 /* open files of a process that are searched */

/* Copies the file's contents into a sealed memfd, owned by the caller. 0, BROKER_ABSENT, PROC_GONE,
 * -errno. */
int tracer_file_copy(const struct server *s, const struct target *t, int *ret_fd,
                     struct error *err);
