/* SPDX-License-Identifier: Apache-2.0 */
/* Dropping of capabilities by a process that needs none. Thread: one, before others start. */
#pragma once

/* Drops all capabilities. Returns 0, or -errno if that fails for root. */
int capabilities_drop(void);
