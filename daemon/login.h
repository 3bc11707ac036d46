/* SPDX-License-Identifier: Apache-2.0 */
/* flamed --login: asks the running flamed for an address at which a browser logs in. */
#pragma once

#include "config.h"

/* Asks on the first Unix socket of @c and prints the address. Returns 0, or -errno with a message
 * that says what to do. Blocks for some seconds at most. */
int login_print(const struct config *c, struct error *err);
