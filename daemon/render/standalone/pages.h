/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that the build makes from web/ (cmake/viewer.cmake). A page is in three pieces: up to the
 * inside of <title>, up to the place of its data, and the rest. All bytes are constant.
 */
#pragma once

#include "base/span.h"

extern const struct span VIEWER_HEAD, VIEWER_BODY, VIEWER_TAIL;
extern const struct span HEATMAP_HEAD, HEATMAP_BODY, HEATMAP_TAIL;
extern const struct span DIFF_HEAD, DIFF_BODY, DIFF_TAIL;
extern const struct span TREE_HEAD, TREE_BODY, TREE_TAIL;
/* The script of svg pictures; does not contain "]]>". */
extern const struct span SVG_SCRIPT;
