/* SPDX-License-Identifier: Apache-2.0 */
/* What the main program has the engine change while it runs, and the files that it gets for it. */
#include "engine/engine_impl.h"
#include "engine/scheduled.h"

struct engine_call {
    struct engine *engine;
    int (*fn)(struct engine *e, void *arg);
    void *arg;
};

static int run_call(void *arg)
{
    struct engine_call *call = arg;

    return call->fn(call->engine, call->arg);
}

/* Runs @fn on the engine's thread and waits for it, as mailbox_ask(). */
static int engine_ask(struct engine *e, int (*fn)(struct engine *e, void *arg), void *arg,
                      struct error *err)
{
    struct engine_call call = { e, fn, arg };

    return mailbox_ask(&e->mailbox, run_call, &call, err);
}

static int call_set_rules(struct engine *e, void *arg)
{
    return scheduled_set_rules(e->scheduled, arg);
}

int engine_set_rules(struct engine *e, struct rules *rules, struct error *err)
{
    int r = engine_ask(e, call_set_rules, rules, err);

    return r == -ENOMEM ? error_set(err, r, "out of memory") : r;
}

static int call_set_config_problem(struct engine *e, void *arg)
{
    snprintf(e->config_problem, sizeof(e->config_problem), "%s", (const char *)arg);
    return 0;
}

void engine_set_config_problem(struct engine *e, const char *sentence)
{
    engine_ask(e, call_set_config_problem, (void *)(uintptr_t)sentence, NULL);
}

static int call_set_tls_problem(struct engine *e, void *arg)
{
    snprintf(e->tls_problem, sizeof(e->tls_problem), "%s", (const char *)arg);
    return 0;
}

void engine_set_tls_problem(struct engine *e, const char *sentence)
{
    engine_ask(e, call_set_tls_problem, (void *)(uintptr_t)sentence, NULL);
}

int engine_open_config(struct engine *e, enum tls_file which, int *ret_fd, struct error *err)
{
    return broker_config(e->broker, which, ret_fd, err);
}

int engine_open_audit(struct engine *e, int *ret_fd, struct error *err)
{
    return broker_audit_log(e->broker, ret_fd, err);
}
