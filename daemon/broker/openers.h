/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The openers: children of the broker, made before it gives up fork, that answer in its place those
 * requests which open files that a target chose. A file system that does not answer (a container's
 * own FUSE, NFS without its server) then holds one opener, for as long as it likes, and not the
 * broker: the request fails after OPENER_WAIT_NS, that process is not asked about again until the
 * opener is back, and all else goes on.
 */
#pragma once

#include "broker/server.h"

#define OPENER_WAIT_NS UINT64_C(2000000000)

/* Forks them. Where that fails (logged) the broker opens files itself. */
void openers_start(struct server *s);
void openers_stop(struct server *s);
/* True where request @kind is theirs and there is one. */
bool openers_take(const struct server *s, uint32_t kind);
/* A request_fn for those. -ETIMEDOUT: the file system does not answer. */
int openers_ask(struct server *s, const struct broker_request *q, struct reply *rep);
