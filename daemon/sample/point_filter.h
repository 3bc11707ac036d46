/* SPDX-License-Identifier: Apache-2.0 */
/* Translates filters of tracepoints as the kernel and perf write them: prev_state == 1 && next_comm
 * ~ "java*". Pure; thread: any. */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "sample/point_abi.h"

#define POINT_DEPTH_MAX 8 /* of parentheses and negations */

/* Translates @text, of a tracepoint that tracefs describes as @format. Return: 0. -EINVAL: it is no
 * such filter, as @err says. */
int point_filter_translate(struct span text, struct span format, struct point_filter *ret,
                           struct error *err);
