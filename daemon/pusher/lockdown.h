/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights of flamed-push: TCP and UDP over IP, and to read /etc and what says where names are
 * resolved. It reaches no Unix socket but that to flamed.
 */
#pragma once

#include "base/error.h"

/* Gives everything else away, for this process and those that it forks, and bounds its memory. TCP
 * connects to @ports[@n] and to the port of name servers alone. A line in the log says where the
 * kernel does not limit that. 0 or -errno with @err. */
int pusher_lockdown(const uint16_t *ports, size_t n, struct error *err);
/* Does the same without bounds of memory. As pusher_lockdown(). */
int pusher_restrict(const uint16_t *ports, size_t n, struct error *err);
