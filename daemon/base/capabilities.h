/* SPDX-License-Identifier: Apache-2.0 */
/* For processes that need no capabilities. Thread: one, before others start. */
#pragma once

/* Drops all capabilities. Returns 0, or -errno if that fails for root. */
int capabilities_drop(void);
