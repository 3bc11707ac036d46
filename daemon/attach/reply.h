/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of an attach as a sentence. It comes from the struct that flamed-attach wrote (or a
 * stranger in its place), and the JVM's reply in it. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "helper/job.h"

/* Checks the bytes of a result. 0; -EBADMSG. */
int attach_result_check(struct span bytes, struct attach_result *ret);
/* Reads the JVM's answer to `load` (JDK 8 to 28 differ) or to `jcmd`.
 * Return: 0: it did it. -ENOEXEC: it could not load the agent from that place. Else -errno with the
 * sentence and remedy. */
int attach_reply_check(struct span reply, uint32_t mode, struct error *err);
/* Both: 0; else -errno with sentence and remedy. err->msg names the step. */
int attach_outcome(const struct attach_result *r, uint32_t mode, struct error *err);
/* "namespaces", "listener", ...: for a machine to read. Static. */
const char *attach_step_name(uint32_t step);
