/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the engine, for api/. All are borrowed while the engine exists. */
#pragma once

#include "capture/captures.h"
#include "capture/recorder.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/mailbox.h"
#include "engine/scheduled.h"
#include "engine/spill.h"
#include "signal/signal.h"

struct engine_parts {
    /* From any thread: */
    struct mailbox *mailbox;
    const struct engine_opts *opts;
    struct broker *broker;
    struct store *store; /* NULL: none */
    struct store_writer *store_writer;
    struct history *history;    /* NULL: none */
    struct spill *const *spill; /* *spill NULL: none */
    /* On the engine's thread: */
    struct discover *discover;
    struct symbolizer *symbolizer;
    struct namer *namer; /* NULL: none; used from any thread */
    struct attaching *attaching;
    struct captures *captures;
    struct scheduled *scheduled;
    struct signals *signals;
    struct recorder *const *recorder; /* *recorder NULL: off */
    const struct dispatch *dispatch;
    const struct sampling *sampling;
    const char (*problems)[ENGINE_PROBLEM_BYTES]; /* [ENGINE_PROBLEMS]; "": none */
};

/* Returns the parts of @e. Thread: any. */
struct engine_parts engine_parts(struct engine *e);
