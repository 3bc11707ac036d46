/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of one real process, `sleep`, with all that they work with but the engine's thread and
 * the BPF programs: the broker is fake_broker.h. Needs root.
 */
#pragma once

#include "fake_broker.h"
#include "suite.h"

#include "base/clock.h"
#include "base/memory_budget.h"
#include "capture/capture_impl.h"
#include "engine/dispatch.h"

/* What done() said of a capture. */
struct rig_end {
    bool done;
    int outcome;
    struct profile *profile; /* NULL: it failed */
    struct error err;
};

struct rig {
    struct fake_broker *fake;
    struct captures captures;
    struct dispatch dispatch;
    struct sampling sampling;
    struct attaching attaching;
    struct memory_budget memory;
    struct recorder *recorder; /* NULL: off */
    pid_t pid;                 /* of the process that is captured */
    uint64_t handle;           /* of the last capture that was started */
    unsigned begun;            /* captures that rig_start() started and that samples came of */
    struct rig_end end;        /* of the first that ended since rig_forget_end() */
};

/* 0; 77: the tests cannot run here, which is printed. */
int rig_missing(void);
/* Fixture: makes @rig; and ends it, which cancels what still runs. */
void rig_open(struct rig *rig);
/* Makes it without the tables by which stacks of the process are walked. */
void rig_open_unread(struct rig *rig);
void rig_close(struct rig *rig);
/* Returns a request for @event at @period of the process, without an end. */
struct capture_request rig_request(const struct rig *rig, const char *event, uint64_t period);
/* Starts a capture, as captures_start(). */
int rig_start(struct rig *rig, const struct capture_request *req, struct error *err);
/* Has the symbols of its process read, which takes long on a busy machine. */
void rig_read_symbols(struct rig *rig);
/* Does what the engine does at a tick. */
void rig_tick(struct rig *rig);
/* Ticks until the last capture that was started runs or has failed, for 10 s at most. */
void rig_run(struct rig *rig);
/* Ticks until done() was called, for 10 s at most. */
void rig_finish(struct rig *rig);
/* Hands over a sample of the process: taken now in set @set, after a wait of @wait_ns; 0: none. */
void rig_sample(struct rig *rig, uint32_t set, uint64_t wait_ns);
/* Hands over @rec, which rig_sample_of() has begun. */
struct sample_record rig_sample_of(const struct rig *rig, uint32_t set);
void rig_take(struct rig *rig, const struct sample_record *rec);
/* Returns the process, as discovered. */
struct process *rig_process(struct rig *rig);
/* Forgets the end of a capture, and frees its profile. */
void rig_forget_end(struct rig *rig);
/* Returns whether the profile or its warnings have @text. */
bool rig_warned(const struct rig *rig, const char *text);
