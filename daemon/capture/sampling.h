/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this machine samples: the broker's word, and the ring of samples. It does so from the
 * start, or as soon as the kernel has checked the BPF programs. Where it refuses them, perf events
 * take their place (sample/perf_abi.h). Thread: the engine's, or the one that starts it.
 */
#pragma once

#include "broker_client/broker.h"
#include "sample/perf_rings.h"
#include "sample/sample.h"

struct sampling {
    struct ring *ring;         /* NULL: no BPF program samples; facts.bpf_problem says why, */
    struct perf_rings *perf;   /* and this takes its place. NULL, too: nothing is sampled */
    struct broker_facts facts; /* from the last look */
    uint64_t looked_ns;
    char without_bpf[512]; /* with perf: a sentence about what is less; else "" */
};

/* Asks the broker what works. Where the BPF programs are loaded by then, opens the ring. 0, also
 * where nothing can be sampled or not yet (s->ring is NULL; /readyz says why); -errno with @err. */
int sampling_open(struct sampling *s, struct broker *b, struct error *err);
void sampling_close(struct sampling *s);
/* Returns whether this machine samples. */
bool sampling_works(const struct sampling *s);
/* While the BPF programs are being loaded: asks again, a few times a second. Returns true when the
 * ring has come: sampling may begin. Without BPF it adds the rings of processors that came online.
 */
bool sampling_poll(struct sampling *s, struct broker *b, uint64_t now_ns);
/* Keeps the sentence of @err as why something of it does not work. */
void sampling_note_problem(struct sampling *s, const struct error *err);
/* Says in @err why nothing can be sampled. The answer is BACKEND_UNAVAILABLE then. */
void sampling_problem(const struct sampling *s, struct error *err);
