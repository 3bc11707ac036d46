/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this machine samples: the broker's word, the ring of samples and the recorder. It does so
 * from the start, or as soon as the kernel has checked the BPF programs. Thread: the engine's, or
 * the one that starts it.
 */
#pragma once

#include "engine/engine_impl.h"

/* Asks the broker what works. Where the BPF programs are loaded by then, begins to sample. 0, also
 * where nothing can be sampled or not yet (e->ring is NULL; /readyz says why); -errno with @err. */
int sampling_open(struct engine *e, struct error *err);
/* While the BPF programs are being loaded: asks again, a few times a second. */
void sampling_poll(struct engine *e, uint64_t now_ns);
/* Sets why nothing can be sampled. Returns BACKEND_UNAVAILABLE. */
int sampling_problem(const struct engine *e, struct error *err);
