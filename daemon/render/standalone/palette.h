/* SPDX-License-Identifier: Apache-2.0 */
/* The colours of frames, those of the viewer's light theme (web/shared/colors.js; a test holds them
 * together). */
#pragma once

#include "base/span.h"

/* 0xrrggbb of a frame: its kind's, a little different from package to package. */
uint32_t palette_frame(uint32_t kind, struct span name);
/* Of the root of a graph. */
#define PALETTE_ROOT 0xe3e5e8u
