/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this machine samples, as the broker reports, and the ring of samples. It samples from the
 * start, or once the kernel has checked the BPF programs. If the kernel refuses them, perf events
 * replace them (sample/perf_abi.h). Thread: the engine's, or the thread that starts the engine.
 */
#pragma once

#include "broker_client/broker.h"
#include "sample/perf_rings.h"
#include "sample/sample.h"

struct sampling {
    struct ring *ring;         /* NULL: no BPF programs; facts.bpf_problem has the reason */
    struct perf_rings *perf;   /* replaces the ring without BPF; both are NULL: no sampling */
    struct broker_facts facts; /* the broker's facts at the last look */
    int wake_fd;               /* owned; an epoll of the ring; -1: nothing wakes the engine */
    bool woken; /* wake_fd was readable; samples of any process may have come since */
    uint64_t looked_ns;
    char without_bpf[1024]; /* with @perf: a sentence about its limits; else "" */
};

/* Asks the broker what works, and opens the ring if the BPF programs are loaded. Return: 0, also if
 * the machine cannot sample, or not yet (s->ring is NULL; /readyz has the reason); -errno with
 * @err. */
int sampling_open(struct sampling *s, struct broker *b, struct error *err);
void sampling_close(struct sampling *s);
/* Returns an fd that becomes readable when a sample of a process without tables comes; the process
 * may soon end. -1: there is none. */
int sampling_wake_fd(const struct sampling *s);
/* Makes sampling_wake_fd() unreadable again, and sets s->woken, which the caller resets. */
void sampling_woken(struct sampling *s);
/* Returns whether this machine samples. */
bool sampling_works(const struct sampling *s);
/* Polls a few times a second while the BPF programs are being loaded. Without BPF, adds the rings
 * of processors that came online. */
void sampling_poll(struct sampling *s, struct broker *b, uint64_t now_ns);
/* Sets @err to the reason why the machine cannot sample, for an answer BACKEND_UNAVAILABLE. */
void sampling_problem(const struct sampling *s, struct error *err);
