/* SPDX-License-Identifier: Apache-2.0 */
/* The colours of frames: those of the viewer's light theme (web/shared/colors.js). A test checks
 * that both are equal. */
#pragma once

#include "base/span.h"

/* Returns the colour (0xrrggbb) of a frame: the colour of its kind, varied a little by package. */
uint32_t palette_frame(uint32_t kind, struct span name);
/* Colour of the root of a graph. */
#define PALETTE_ROOT 0xe3e5e8u
