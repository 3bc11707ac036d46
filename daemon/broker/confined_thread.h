/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of the broker beside its main one. It starts before the broker gives up its rights,
 * gives them up itself, and lives as long as it. */
#pragma once

#include "base/error.h"

/* Starts a thread named @name that runs @fn(@arg), which never returns, once @confine has given up
 * the rights of the thread that calls it. @urgent: before other programs, as the broker is. 0 once
 * that is done, else -errno with @err. */
int confined_thread_start(const char *name, bool urgent, int (*confine)(struct error *err),
                          void (*fn)(void *arg), void *arg, struct error *err);
