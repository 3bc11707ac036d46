/* SPDX-License-Identifier: Apache-2.0 */
/* What flamed-broker's missing capabilities mean for a user, in sentences with the remedy. Pure. */
#pragma once

#include "base/macros.h"

/* Calls @fn for each capability that is missing in the bit set @capabilities and whose lack limits
 * something. */
void rights_problems(uint64_t capabilities, void (*fn)(void *cookie, const char *sentence),
                     void *cookie);
