/* SPDX-License-Identifier: Apache-2.0 */
/* Inside flamed-attach: its two halves. Each returns 0, or -errno with the step that failed. */
#pragma once

#include "attach/job.h"

/* Becomes the target: namespaces, root, user, no capability, and only the system calls that the
 * second half needs. Returns in a child; the caller's process waits for it and never returns. */
int become_target(const struct attach_job *job, uint32_t *ret_step);

/* Talks to the JVM as its own user. Fills reply, reply_n and started. */
int talk_to_jvm(const struct attach_job *job, struct attach_result *result, uint32_t *ret_step);

/* Puts the agent into the target's /tmp, as its user, where it stays until copy_remove(). */
#define COPY_PATH "/tmp/.flamed-agent-1.so"
int copy_agent(void);
void copy_remove(void);

static inline uint64_t attach_deadline_left_ms(uint64_t deadline_ns, uint64_t now_ns)
{
    return now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000000 + 1 : 0;
}
/* CLOCK_MONOTONIC. */
uint64_t attach_now_ns(void);
