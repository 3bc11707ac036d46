/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file in which Datadog's tracer says which service its process is: a memfd that it keeps open,
 * by the name of datadog-tracer-info-. Thread: any; blocks as files of the target do.
 */
#pragma once

#include "broker/target/target.h"

#define TRACER_FILE_BYTES_MAX ((size_t)16 << 10)
#define TRACER_FILE_LOOKS_MAX 4096 /* open files of a process that are looked at */

/* Gets what it holds, in a sealed memfd, the caller's. 0, BROKER_ABSENT, PROC_GONE, -errno. */
int tracer_file_copy(const struct target *t, int *ret_fd, struct error *err);
