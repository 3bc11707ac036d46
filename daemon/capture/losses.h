/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that did not arrive, counted for the captures that would have had them. A capture has the
 * losses of its own sets and of processes that it wants, and no other. Others would tell one client
 * what another samples, or what runs where that client may not look. Thread: the engine's.
 */
#pragma once

#include "sample/loss_abi.h"

#include <stdbool.h>
#include <stddef.h>

struct captures;

/* What a capture lost. */
struct lost {
    double unread, costly;  /* samples, as in struct loss_count */
    uint64_t unplaced;      /* the same, of processes that are not known */
    uint64_t hidden_before; /* ticks in processes that flamed cannot see, when it began */
};

/* Asks the broker what was lost, and adds it to the captures that run. To be called when one begins
 * and when one ends. */
void captures_take_losses(struct captures *captures);
/* Does the same if the last time is a second ago. */
void captures_losses_tick(struct captures *captures, uint64_t now_ns);
/* Adds @count @losses, which were counted until @now_ns. */
void captures_add_losses(struct captures *captures, const struct loss *losses, size_t count,
                         uint64_t now_ns);
