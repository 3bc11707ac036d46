/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of flamed-push: the network, and to read /etc and what says where names are resolved.
 */
#pragma once

#include "base/error.h"

/* Gives everything else away, for this process and those that it forks. 0 or -errno with @err. */
int pusher_lockdown(struct error *err);
