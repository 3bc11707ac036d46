/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of one real process, `sleep`, with the real modules around them. The engine's thread and
 * the BPF programs are missing, and fake_broker.h is the broker. Needs root.
 */
#pragma once

#include "fake_broker.h"
#include "suite.h"

#include "base/clock.h"
#include "base/memory_budget.h"
#include "capture/capture_impl.h"
#include "engine/dispatch.h"

/* The arguments of done() for a capture. */
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
    pid_t pid;                 /* of the captured process */
    uint64_t handle;           /* of the last capture started */
    unsigned begun;            /* captures started by rig_start() that got samples */
    struct rig_end end;        /* the first end since rig_forget_end() */
};

/* Returns 0; 77: the tests cannot run here, and a message says why. */
int rig_missing(void);
/* rig_open() makes @rig. rig_close() ends it, and cancels captures that still run. */
void rig_open(struct rig *rig);
/* Makes @rig without the tables for walking stacks of the process. */
void rig_open_unread(struct rig *rig);
void rig_close(struct rig *rig);
/* Returns a request for @event of the process at @period, without an end. */
struct capture_request rig_request(const struct rig *rig, const char *event, uint64_t period);
/* Starts a capture, as captures_start(). */
int rig_start(struct rig *rig, const struct capture_request *req, struct error *err);
/* Starts one of rig_request(), which must succeed. */
void rig_begin(struct rig *rig, const char *event, uint64_t period);
/* Has the symbols of the process read. That takes long on a busy machine. */
void rig_read_symbols(struct rig *rig);
/* Does the engine's work of one tick. */
void rig_tick(struct rig *rig);
/* Ticks until the last capture runs or has failed, for 10 s at most. */
void rig_run(struct rig *rig);
/* Ticks until done() was called, for 10 s at most. */
void rig_finish(struct rig *rig);
/* Delivers a sample of the process, taken now in set @set after a wait of @wait_ns; 0: no wait. */
void rig_sample(struct rig *rig, uint32_t set, uint64_t wait_ns);
/* rig_sample_of() begins a record, and rig_take() delivers it. */
struct sample_record rig_sample_of(const struct rig *rig, uint32_t set);
void rig_take(struct rig *rig, const struct sample_record *rec);
/* Returns the process as discover/ knows it. */
struct process *rig_process(struct rig *rig);
/* Forgets the end of a capture, and frees its profile. */
void rig_forget_end(struct rig *rig);
/* Returns true if the profile's warnings, or the error, contain @text. */
bool rig_warned(const struct rig *rig, const char *text);
