/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns each record to an instruction. Finds the "aside" blocks, which are off the hot path.
 */
#pragma once

#include "hotspot/leaf/leaf.h"

enum leaf_kind {
    LEAF_KIND_NONE,
    LEAF_KIND_CALL,   /* record at the end of a call */
    LEAF_KIND_POLL,   /* record at a poll itself */
    LEAF_KIND_DETAIL, /* record at the end of another instruction: -XX:+DebugNonSafepoints */
    LEAF_KIND_GUARD,  /* record of the trap that the branch leads to */
    LEAF_KIND_FAULT,  /* record of the trap that a fault of the instruction leads to */
};

struct leaf_evidence {
    uint32_t *chain; /* owned; [instruction_count]; LEAF_NONE: no record */
    uint8_t *kind;   /* owned; [instruction_count] */
    uint32_t *aside; /* owned; [block_count] chain of the trap or slow call; LEAF_NONE: not aside */
};

/* Makes the evidence. Returns 0 and *ret, to be freed with leaf_evidence_deinit(); or -ENOMEM. */
int leaf_evidence_make(const struct leaf_input *in, const struct leaf_graph *g,
                       struct leaf_evidence *ret);
void leaf_evidence_deinit(struct leaf_evidence *e);
