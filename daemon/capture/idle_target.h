/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reasons why a single process has no samples. By its state: stopped, traced or frozen. Or it is no
 * JVM, but has started one.
 */
#pragma once

#include "broker_client/broker.h"
#include "capture/process_selector.h"

#define IDLE_TARGET_BYTES 400

/* Writes the JVM that @p, itself no JVM, started: "its child 42 is (Main)". Walks up from a bounded
 * number of JVMs that the viewer of @t sees. Returns false if none was found. */
bool idle_target_child(struct discover *d, int proc_fd, const struct target *t,
                       const struct process *p, char *buf, size_t size);
/* Writes why process @p ran nothing. Returns false if its state gives no reason. */
bool idle_target_text(struct discover *d, struct broker *b, int proc_fd, const struct target *t,
                      struct process *p, char buf[IDLE_TARGET_BYTES]);
