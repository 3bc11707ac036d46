/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The openers: children of the broker, which answer requests that open files chosen by a target.
 * These are the target's own files, and files of /proc that wait for a running exec when opened.
 * (Until the exec ends, the kernel withholds start time, maps and memory.)
 *
 * A file system that does not answer (a container's own FUSE, NFS without its server) then blocks
 * an opener, not the broker. Not even SIGKILL ends that opener. The request fails after
 * OPENER_WAIT_NS. Until that opener answers, no other file of the same owner (proc_owner()) is
 * opened; other owners are not affected. Another opener takes its place, up to OPENERS_MAX. The
 * nursery forks it. The nursery is a child that the broker made before it gave up fork. The broker
 * keeps a late answer for the next equal request. A slow answer uses up its owner's budget
 * (proc/owner_budget.h). Openers that end are replaced, too. Until then their requests are refused:
 * the broker itself opens no file that might block it.
 */
#pragma once

#include "broker/server.h"

#define OPENERS_AT_FIRST 4
#define OPENER_WAIT_NS UINT64_C(500000000)
/* Limit for files of /proc, which the kernel answers at once unless an exec is running. */
#define OPENER_WAIT_PROC_NS UINT64_C(100000000)
/* further wait while the opener waits for a processor */
#define OPENER_TURN_NS UINT64_C(2000000000)
/* lifetime of a late answer, from the time of its request */
#define OPENER_KEEP_NS UINT64_C(30000000000)

/* Looks of openers (opener_looks.h), with numbers above all kinds of requests. */
enum opener_look_kind { OPENER_LOOK_AGENT = 0x10000, OPENER_LOOK_CODE, OPENER_LOOK_JVM };

/* Forks the openers and the nursery. @fn: performs looks in openers. If none can be forked
 * (logged), the broker opens files itself. */
void file_openers_start(struct server *s, opener_look_fn fn);
void file_openers_stop(struct server *s);
/* Replaces openers that have ended, and drops late answers after OPENER_KEEP_NS. Blocks nowhere. */
void file_openers_tend(struct server *s);
/* Returns true if there is such work to do, now or later. */
bool file_openers_need_tending(const struct server *s);
/* Returns -ECHILD with @err if no opener is free and no other one can be forked. Then the broker
 * must end: the next one forks its own. */
int file_openers_check(const struct server *s, struct error *err);
/* Returns true if openers answer requests of @kind. */
bool file_openers_take(const struct server *s, uint32_t kind);
/* Answers the request @q as its function in server.h does. Return: also -ETIMEDOUT if the file
 * system does not answer; -EAGAIN: no opener is left, and another is being forked; -EMFILE. */
int file_openers_ask(struct server *s, const struct broker_request *q, struct reply *rep);
/* Lets an opener perform the look @q. Accepts no late answer. Return: the result, or that of
 * file_openers_ask(). */
int file_openers_look(struct server *s, const struct broker_request *q, struct reply *rep);
/* Lets an opener check that the process @of is a JVM that flamed may inspect, as for request mem.
 * Accepts no late answer. 0, PROC_GONE, -errno with @err. */
int file_openers_check_jvm(struct server *s, const struct target_fields *of, struct error *err);
/* Lets an opener open the process that @q names, before the broker itself reads that process.
 * Accepts no late answer: a process could have the broker wait for an exec that began after it.
 * Return: 0 if the open ended or @q names no process; -ETIMEDOUT or -EAGAIN with @err if it did
 * not. */
int file_openers_try(struct server *s, const struct broker_request *q, struct error *err);
