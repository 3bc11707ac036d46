/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of flamed-push: one for each target at a time, by libcurl. The input from flamed
 * and the answers from the network are bounded. Thread: one.
 */
#pragma once

#include "push/pusher_abi.h"

struct transfers;

typedef void (*transfer_done_fn)(void *cookie, uint32_t target, uint32_t id,
                                 const struct pusher_answer *answer);

/* Prepares libcurl, and reads the certificates of this machine and the configuration of its
 * library. Call it before the sandbox. Returns 0 or -errno. */
int transfer_prepare(void);
/* Makes a set of transfers. transfers_run() calls @done. Returns 0 or -ENOMEM. */
int transfers_new(transfer_done_fn done, void *cookie, struct transfers **ret);
/* Replaces the words of a target. A transfer under way ends without an answer. Returns 0, -EINVAL
 * for words that flamed does not send, or -ENOMEM. */
int transfers_target(struct transfers *t, uint32_t target, struct span words);
/* Begins to send a copy of @body. Returns 0, -EINVAL if the target has no words or has a transfer
 * under way, or -ENOMEM. */
int transfers_send(struct transfers *t, uint32_t target, uint32_t id, struct span body);
/* Continues all transfers. Waits, a second at most, until one of them or @fd is ready.
 * *ret_readable: whether @fd can be read. Returns 0 or -errno. */
int transfers_run(struct transfers *t, int fd, bool *ret_readable);
