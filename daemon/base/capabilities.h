/* SPDX-License-Identifier: Apache-2.0 */
/* Dropping of capabilities by a process that needs none. Thread: one, before others start. */
#pragma once

/* Drops all of them. 0; -errno: root could not. */
int capabilities_drop(void);
