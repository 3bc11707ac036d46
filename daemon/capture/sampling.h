/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this machine samples: the broker's word, and the ring of samples. It does so from the
 * start, or as soon as the kernel has checked the BPF programs. Thread: the engine's, or the one
 * that starts it.
 */
#pragma once

#include "broker_client/broker.h"
#include "sample/sample.h"

struct sampling {
    struct ring *ring;         /* NULL where nothing is sampled: facts.bpf_problem says why */
    struct broker_facts facts; /* from the last look */
    uint64_t looked_ns;
};

/* Asks the broker what works. Where the BPF programs are loaded by then, opens the ring. 0, also
 * where nothing can be sampled or not yet (s->ring is NULL; /readyz says why); -errno with @err. */
int sampling_open(struct sampling *s, struct broker *b, struct error *err);
/* While the BPF programs are being loaded: asks again, a few times a second. Returns true when the
 * ring has come: sampling may begin. */
bool sampling_poll(struct sampling *s, struct broker *b, uint64_t now_ns);
/* Keeps the sentence of @err as why something of it does not work. */
void sampling_note_problem(struct sampling *s, const struct error *err);
/* Says in @err why nothing can be sampled. The answer is BACKEND_UNAVAILABLE then. */
void sampling_problem(const struct sampling *s, struct error *err);
