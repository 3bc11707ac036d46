/* SPDX-License-Identifier: Apache-2.0 */
/* flamed --login: asks the flamed that runs for an address at which a browser logs in. */
#pragma once

#include "config.h"

/* Asks on the first Unix socket of @c and prints the address. 0; or -errno with a sentence and what
 * to do. Blocks for some seconds at most. */
int login_print(const struct config *c, struct error *err);
