/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction each record speaks of, and which blocks stand aside of the code that is hot. */
#pragma once

#include "hotspot/leaf/leaf.h"

enum leaf_kind {
    LEAF_KIND_NONE,
    LEAF_KIND_CALL,   /* a record at the end of the call */
    LEAF_KIND_POLL,   /* at the instruction itself */
    LEAF_KIND_DETAIL, /* at the end of an instruction: -XX:+DebugNonSafepoints */
    LEAF_KIND_GUARD,  /* of the trap that the branch leads to */
    LEAF_KIND_FAULT,  /* of the trap that the instruction leads to when it faults */
};

struct leaf_evidence {
    uint32_t *chain; /* owned; [instruction_count]; LEAF_NONE */
    uint8_t *kind;   /* owned; the same */
    uint32_t *aside; /* owned; [block_count] the chain of the trap or slow call; LEAF_NONE */
};

/* 0 and *ret, to be freed with leaf_evidence_deinit(); -ENOMEM. */
int leaf_evidence_make(const struct leaf_input *in, const struct leaf_graph *g,
                       struct leaf_evidence *ret);
void leaf_evidence_deinit(struct leaf_evidence *e);
