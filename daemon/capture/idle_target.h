/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a single process has no samples, as far as its state says that. It may be stopped, traced or
 * frozen. Or it is no JVM, and started one.
 */
#pragma once

#include "broker_client/broker.h"
#include "capture/process_selector.h"

#define IDLE_TARGET_BYTES 400

/* Writes the JVM that @p, which is none, started: "its child 42 is (Main)". Looks from each JVM
 * upwards, at no more than some; *t says which the viewer sees. False: there is none. */
bool idle_target_child(struct discover *d, int proc_fd, const struct target *t,
                       const struct process *p, char *buf, size_t size);
/* Writes why process @p ran nothing. False: its state does not tell. */
bool idle_target_text(struct discover *d, struct broker *b, int proc_fd, const struct target *t,
                      struct process *p, char buf[IDLE_TARGET_BYTES]);
