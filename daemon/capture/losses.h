/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lost samples, counted for the captures that would have had them. A capture counts losses of its
 * own sets in processes that it wants, and no others. Others' losses would show one client the
 * samples of another, or processes that the client may not see. Thread: the engine's.
 */
#pragma once

#include "sample/loss_abi.h"

#include <stdbool.h>
#include <stddef.h>

struct captures;

/* The losses of a capture. */
struct lost {
    double unread, costly;  /* samples, as in struct loss_count */
    uint64_t unplaced;      /* samples of unknown processes */
    uint64_t hidden_before; /* ticks in processes that flamed cannot see, when it began */
};

/* Takes the losses from the broker and adds them to the captures that run. To be called when a
 * capture begins and when one ends. */
void captures_take_losses(struct captures *captures);
/* Does the same if the last call is a second ago and a capture runs. */
void captures_losses_tick(struct captures *captures, uint64_t now_ns);
/* Adds @count @losses, counted until @now_ns. */
void captures_add_losses(struct captures *captures, const struct loss *losses, size_t count,
                         uint64_t now_ns);
