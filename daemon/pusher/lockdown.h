/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights of flamed-push: TCP and UDP over IP, and reading /etc and the files with name servers.
 * Its only Unix socket is the one to flamed.
 */
#pragma once

#include "base/error.h"

/* Gives up all other rights, for this process and its children, and limits its memory. TCP may
 * connect only to @ports[@n] and to the port of name servers. A line in the log names limits that
 * the kernel lacks. Returns 0 or -errno with @err. */
int pusher_lockdown(const uint16_t *ports, size_t n, struct error *err);
/* Does the same without a limit of memory. Returns the same. */
int pusher_restrict(const uint16_t *ports, size_t n, struct error *err);
