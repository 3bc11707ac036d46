/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of an attach as a sentence, from the struct that flamed-attach wrote and the JVM's
 * reply in it. Both are hostile: a process of the container may have written them. Pure; thread:
 * any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "helper/job.h"

/* Checks the bytes of a result. Returns 0 or -EBADMSG. */
int attach_result_check(struct span bytes, struct attach_result *ret);
/* Reads the JVM's answer to `load` (JDK 8 to 28 differ) or to `jcmd`.
 * Return: 0: done. -ENOEXEC: the JVM could not load the agent from that place. Else -errno with the
 * sentence and remedy. */
int attach_reply_check(struct span reply, uint32_t mode, struct error *err);
/* Checks the result and the reply in it. Return: 0; else -errno with sentence and remedy; err->msg
 * names the step. */
int attach_outcome(const struct attach_result *r, uint32_t mode, struct error *err);
/* Returns the machine-readable name of @step: "namespaces", "listener", ... Static. */
const char *attach_step_name(uint32_t step);
