/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: reads the configuration again, all or nothing. Schedules and triggers change while flamed
 * runs; what needs a restart is said in the log. Thread: main's.
 */
#pragma once

#include "capture/engine.h"
#include "config.h"
#include "serve/serve.h"

/* How this process was configured. */
struct reload {
    int argc; /* the options of the command line; argv[0] is passed by */
    char *const *argv;
    struct config *config; /* as it is in force; its rules are the engine's */
    struct serve *serve;   /* whose access rules change with it */
};

/* Never fails: what is wrong with the file is logged and shown by /readyz, and all stays as it was.
 */
void reload_config(struct reload *r, struct engine *engine);
