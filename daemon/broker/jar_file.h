/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jar of a JVM's program: a file that the JVM has open, by its name. Thread: the broker's, or
 * an opener's.
 */
#pragma once

#include "broker/target/target.h"

#define JAR_FILE_LOOKS_MAX 65536 /* open files of a JVM that are looked at */
#define JAR_FILE_BYTES_MAX (UINT64_C(1) << 32)

/* Opens the file @name of @t. 0, PROC_GONE, BROKER_ABSENT: the JVM has no such file open, or
 * -errno. */
int jar_file_open(const struct server *s, const struct target *t, const char *name, int *ret_fd,
                  struct error *err);
