/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The openers: children of the broker that answer in its place the requests which open what a
 * target chose. That is files of its own, and files of /proc: to open these waits for an exec that
 * is under way. (Until its end the kernel withholds start time, maps and memory.)
 *
 * A file system that does not answer (a container's own FUSE, NFS without its server) then holds
 * one opener, beyond SIGKILL, and not the broker. The request fails after OPENER_WAIT_NS. Nothing
 * of the same owner (proc_owner()) is opened until the opener is back, and all else works. Another
 * takes its place, up to OPENERS_MAX. The nursery forks it, a child that was made before the broker
 * gave up fork. A late answer is kept for the next such request. A slow one uses up its owner's
 * budget (proc/owner_budget.h).
 */
#pragma once

#include "broker/server.h"

#define OPENERS_AT_FIRST 4
#define OPENER_WAIT_NS UINT64_C(500000000)
/* For what the kernel tells by itself unless it waits for such a file. */
#define OPENER_WAIT_PROC_NS UINT64_C(100000000)
#define OPENER_TURN_NS UINT64_C(2000000000)  /* that a busy machine may give an opener no turn */
#define OPENER_KEEP_NS UINT64_C(30000000000) /* from the question on */

/* Forks them. Where that fails (logged) the broker opens files itself. */
void file_openers_start(struct server *s);
void file_openers_stop(struct server *s);
/* Returns true where request @kind is theirs and there is one. */
bool file_openers_take(const struct server *s, uint32_t kind);
/* Answers those requests as their functions in server.h do. -ETIMEDOUT: the file system does not
 * answer. */
int file_openers_ask(struct server *s, const struct broker_request *q, struct reply *rep);
/* Before the broker itself looks at the process that @q names: whether that can be opened, as an
 * opener found. 0 too where @q names none; -ETIMEDOUT. */
int file_openers_try(struct server *s, const struct broker_request *q, struct error *err);
