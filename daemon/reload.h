/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: reads the configuration again, all or nothing. Schedules, triggers, access rules and what
 * TLS takes change while flamed runs; the log names options that need a restart. flamed also checks
 * the files for TLS without a signal. Thread: main's.
 */
#pragma once

#include "config.h"
#include "engine/engine.h"
#include "serve/serve.h"

struct tls;

/* The configuration of this process, and its users. */
struct reload {
    int argc; /* the options of the command line, without argv[0] */
    char *const *argv;
    struct config *config; /* in force; the engine owns its rules, serve its access rules */
    struct serve *serve;   /* gets new access rules at a reload */
    struct tls *tls;       /* in force; owned; NULL: flamed was started without TLS */
    bool open;             /* other machines reach flamed */
    bool plain;            /* flamed listens on TCP without TLS */
    bool warned_plain;     /* the log has a warning about secrets over plain HTTP */
    char tls_problem[ENGINE_PROBLEM_BYTES]; /* text of the last log line; "": none */
};

/* Reads the configuration again. Never fails: an error in the file is logged and shown by /readyz,
 * and all values stay as they were. */
void reload_config(struct reload *r, struct engine *engine);
/* Takes a new certificate, key or CA if the files have changed. Fails like reload_config(). */
void reload_tls(struct reload *r, struct engine *engine);
/* Warns if the rules in force take tokens or passwords where others may read them. */
void reload_plain(struct reload *r, struct engine *engine);
/* Has the broker open the audit log, for a worker that begins (@ret_fd) or one that runs (NULL).
 * Errors are logged, and the earlier log stays. */
void reload_audit(struct reload *r, struct engine *engine, int *ret_fd);
