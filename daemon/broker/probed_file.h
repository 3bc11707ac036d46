/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that the kernel is to put probes into: libjvm.so, or for request call any with code. To
 * put or take one, the kernel waits for the lock of the memory of each process that has the file
 * mapped. Until it has them all, nothing on the machine can fork. So no probe is for a target that
 * may serve file systems itself: by one, it could keep that lock for good.
 */
#pragma once

#include "broker/target/target.h"

enum probed_name { PROBED_ANY, PROBED_LIBJVM /* it must be called libjvm.so */ };

/* Pins the target of @at into @ret, and opens the file of that mapping, as request mapped does. 0;
 * PROC_GONE; -EAGAIN: nothing is sampled; -EPERM or -EOPNOTSUPP: no probe may be put there; -errno:
 * each with @err. The caller releases @ret in any case. */
int probed_file_open(struct server *s, const struct mapping_fields *at, enum probed_name name,
                     struct target *ret, int *ret_fd, struct error *err);
/* Refuses (-EPERM with @err) a target that may serve file systems itself. 0: it does not. */
int probed_file_refuse_served(struct server *s, const struct target_fields *of,
                              const struct target *t, struct error *err);
