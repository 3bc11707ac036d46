/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that the kernel is to put probes into: libjvm.so, or for request call any with code. To
 * put or take one, the kernel waits for the lock of the memory of each process that has the file
 * mapped. Until it has them all, nothing on the machine can fork. So no probe is for a target that
 * may serve file systems itself: by one, it could keep that lock for good.
 */
#pragma once

#include "broker/target/target.h"

/* Pins the target of @q into @ret, and opens the file of the mapping that @q names. An opener
 * (file_openers.h) has the file in @rep then, and *ret_fd is left as it is. The broker asks an
 * opener for it with @q itself, which must therefore be a request whose function calls this. 0;
 * PROC_GONE; -EAGAIN: nothing is sampled; -EPERM or -EOPNOTSUPP: no probe may be put there; -errno:
 * each with @rep->err. The caller releases @ret in any case. */
int probed_file_open(struct server *s, const struct broker_request *q, struct target *ret,
                     int *ret_fd, struct reply *rep);
/* Refuses (-EPERM with @err) a target that may serve file systems itself. 0: it does not. */
int probed_file_refuse_served(struct server *s, const struct broker_request *q,
                              const struct target *t, struct error *err);
