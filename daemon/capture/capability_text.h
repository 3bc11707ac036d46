/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences for users about missing capabilities of flamed-broker, with the remedy. Pure. */
#pragma once

#include "base/macros.h"

/* Calls @fn for each missing capability in the bit set @capabilities that limits flamed. */
void rights_problems(uint64_t capabilities, void (*fn)(void *cookie, const char *sentence),
                     void *cookie);
