/* SPDX-License-Identifier: Apache-2.0 */
/* Converts Prometheus text into OpenMetrics 1.0. Pure; thread: any. */
#pragma once

#include "base/buf.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define OPENMETRICS_END "# EOF\n"

/* Appends the families of @text, which is Prometheus text 0.0.4. Its samples stay as they are, so
 * they may end with an exemplar. If a counter's family had the name of another family, its type
 * becomes unknown. */
void openmetrics_add(struct buf *out, struct span text);
