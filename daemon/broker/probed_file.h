/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that the kernel is to put probes into: libjvm.so, or for request call any with code. To
 * put or take one, the kernel waits for the lock of the memory of each process that has the file
 * mapped. Until it has them all, nothing on the machine can fork. So no probe is for a target that
 * may serve file systems itself: by one, it could keep that lock for good.
 */
#pragma once

#include "broker/target/target.h"

/* Opens it, of @t and the mapping that @q names. In an opener (file_openers.h) that is all. In the
 * broker an opener is asked for it with @q itself, which must therefore be a request whose function
 * calls this. 0, PROC_GONE, -EPERM or -EOPNOTSUPP: no probe may be put there; -errno with @err. */
int probed_file_open(struct server *s, const struct broker_request *q, const struct target *t,
                     int *ret_fd, struct error *err);
/* Refuses (-EPERM with @err) a target that may serve file systems itself. 0: it does not. */
int probed_file_refuse_served(struct server *s, const struct broker_request *q,
                              const struct target *t, struct error *err);
