/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of aarch64 at which a probe may stand at the start of a function. Each has four
 * bytes, so a probe there is never inside one. The kernel emulates branches, adrp and, since 6.12,
 * no-ops. It steps over a copy of the other instructions, which do not depend on their address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the landing pad or of the signing of the return address that @code begins
 * with, or 0. The processor allows indirect calls to these instructions only, so a probe is put
 * after them. */
size_t start_aarch64_pad(const uint8_t *code);

/* Returns true if a probe may replace the instruction @code. It is a store that moves the stack
 * pointer, a subtraction from it, adrp, a branch without a link, or a no-op. */
bool start_aarch64_known(const uint8_t *code);
