/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lost samples, counted for the captures that would have had them. A capture counts only losses of
 * its own sets in processes that it wants. Other losses would reveal another client's samples, or
 * processes that the client may not see. Thread: the engine's.
 */
#pragma once

#include "sample/loss_abi.h"

#include <stdbool.h>
#include <stddef.h>

struct captures;

/* The losses of a capture. */
struct lost {
    double unread, costly;  /* its share of the samples that were not read, or not taken */
    uint64_t unplaced;      /* samples of unknown processes */
    uint64_t hidden_before; /* ticks in processes that flamed cannot see, when it began */
};

/* Returns the number of samples in @l. */
uint64_t lost_samples(const struct lost *l);

/* Takes the losses from the broker and adds them to the running captures. Call this when a capture
 * begins and when one ends. */
void captures_take_losses(struct captures *captures);
/* Does the same if the last call was at least a second ago and a capture runs. */
void captures_losses_tick(struct captures *captures, uint64_t now_ns);
/* Adds @count @losses, which were counted until @now_ns. */
void captures_add_losses(struct captures *captures, const struct loss *losses, size_t count,
                         uint64_t now_ns);
