/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates filters of tracepoints in the syntax of the kernel and perf: prev_state == 1 &&
 * next_comm ~ "java*". Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "sample/point_abi.h"

#define POINT_DEPTH_MAX 8 /* depth of parentheses and negations */

/* Translates @text for a tracepoint with the tracefs description @format. Return: 0. -EINVAL with
 * @err: it is no such filter. */
int point_filter_translate(struct span text, struct span format, struct point_filter *ret,
                           struct error *err);
