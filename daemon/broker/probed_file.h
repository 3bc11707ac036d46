/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the file that the kernel is to put probes into: libjvm.so, or for request call any file
 * with code. To put or remove a probe, the kernel waits for the memory lock of each process that
 * has the file mapped. Until it has all these locks, no process of the machine can fork. So no
 * probe is put into a target that may serve file systems itself, because it could then hold its
 * lock without end.
 */
#pragma once

#include "broker/target/target.h"

/* Pins the target of @at into @ret, and opens the file of that mapping as request mapped does.
 * Return: 0; PROC_GONE; -EPERM or -EOPNOTSUPP: no probe may be put there; other -errno. @err is set
 * for each -errno. The caller releases @ret in any case. */
int probed_file_open(struct server *s, const struct mapping_fields *at, struct target *ret,
                     int *ret_fd, struct error *err);
/* Refuses (-EPERM with @err) a target that may serve file systems itself. 0: it serves none. */
int probed_file_refuse_served(struct server *s, const struct target_fields *of,
                              const struct target *t, struct error *err);
