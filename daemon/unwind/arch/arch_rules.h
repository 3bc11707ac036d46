/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Includes the rules for HotSpot code of the architecture at hand (see arch.h). */
#pragma once

#include "unwind/rules.h"

#ifdef UNWIND_AARCH64
#include "unwind/arch/aarch64_rules.h"
#else
#include "unwind/arch/x86_64_rules.h"
#endif
