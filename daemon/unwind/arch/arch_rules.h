/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rules of the architecture at hand for code of a HotSpot VM (arch.h has what those are made
 * of). */
#pragma once

#include "unwind/rules.h"

#ifdef UNWIND_AARCH64
#include "unwind/arch/aarch64_rules.h"
#else
#include "unwind/arch/x86_64_rules.h"
#endif
