/* SPDX-License-Identifier: Apache-2.0 */
/* The age of a process. Thread: any. */
#pragma once

#include "discover/discover.h"

/* Returns how long ago @p started, whatever the wall clock says. */
uint64_t process_age_ns(const struct process *p);
