/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What holders.bpf.c and its loader share. */
#pragma once

#define HOLDERS_LATE 0xffffffffu /* in place of a process: the time is over */
