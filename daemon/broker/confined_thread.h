/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts threads of the broker beside its main thread. Such a thread starts before the broker gives
 * up its rights, gives up its own, and lives as long as the broker.
 */
#pragma once

#include "base/error.h"

/* Starts a thread named @name, which gives up its rights by @confine and then runs @fn(@arg); @fn
 * never returns. @urgent: the thread keeps the broker's raised priority; otherwise it runs at nice
 * 0. Return: 0 once @confine is done, else -errno with @err. */
int confined_thread_start(const char *name, bool urgent, int (*confine)(struct error *err),
                          void (*fn)(void *arg), void *arg, struct error *err);
