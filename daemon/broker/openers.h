/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The openers: children of the broker, made before it gives up fork, that answer in its place those
 * requests which open files that a target chose. A file system that does not answer (a container's
 * own FUSE, NFS without its server) then holds one opener, for as long as it likes, beyond SIGKILL,
 * and not the broker: the request fails after OPENER_WAIT_NS, nothing of that container (outside of
 * one: that process) is opened until the opener is back, and all else goes on. An answer that comes
 * late is kept for who asks once more. One that answers slowly uses up its container's patience
 * (patience.h).
 */
#pragma once

#include "broker/server.h"

#define OPENER_WAIT_NS UINT64_C(500000000)
#define OPENER_KEEP_NS UINT64_C(30000000000) /* from the question on */

/* Forks them. Where that fails (logged) the broker opens files itself. */
void openers_start(struct server *s);
void openers_stop(struct server *s);
/* True where request @kind is theirs and there is one. */
bool openers_take(const struct server *s, uint32_t kind);
/* A request_fn for those. -ETIMEDOUT: the file system does not answer. */
int openers_ask(struct server *s, const struct broker_request *q, struct reply *rep);
