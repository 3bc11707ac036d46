/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of flamed-push: one for each target at a time, by libcurl. Names and bytes come
 * from flamed, answers from the network; both are bounded. Thread: one.
 */
#pragma once

#include "push/pusher_abi.h"

struct transfers;

typedef void (*transfer_done_fn)(void *cookie, uint32_t target, uint32_t id,
                                 const struct pusher_answer *answer);

/* Makes libcurl ready, with what it reads of this machine: certificates, the configuration of its
 * library. Before the sandbox. 0 or -errno. */
int transfer_prepare(void);
/* 0 or -ENOMEM. @done is called by transfers_run(). */
int transfers_new(transfer_done_fn done, void *cookie, struct transfers **ret);
/* Takes the words of a target in the place of those before; a transfer under way ends unanswered.
 * 0, -EINVAL (what flamed does not send), -ENOMEM. */
int transfers_target(struct transfers *t, uint32_t target, struct span words);
/* Begins to send @body, which is copied. 0; -EINVAL: no words of that target, or it has one under
 * way; -ENOMEM. */
int transfers_send(struct transfers *t, uint32_t target, uint32_t id, struct span body);
/* Goes on with all, and waits until one of them or @fd can go on: a second at most. *ret_readable:
 * @fd can be read. 0 or -errno. */
int transfers_run(struct transfers *t, int fd, bool *ret_readable);
