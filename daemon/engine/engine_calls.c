/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the main program to the running engine: to change it, and to open files through it. */
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

struct set_problem {
    struct engine *engine;
    enum engine_problem which;
    char sentence[ENGINE_PROBLEM_BYTES];
};

static int run_set_problem(void *arg)
{
    const struct set_problem *set = arg;

    memcpy(set->engine->problems[set->which], set->sentence, ENGINE_PROBLEM_BYTES);
    return 0;
}

void engine_set_problem(struct engine *e, enum engine_problem which, const char *sentence)
{
    struct set_problem set = { .engine = e, .which = which };

    span_copy(span_of(sentence), set.sentence, sizeof(set.sentence));
    mailbox_post(&e->mailbox, run_set_problem, &set, sizeof(set));
}

static int run_stop_preparing(void *arg)
{
    struct engine *const *e = arg;

    captures_stop_preparing(&(*e)->captures);
    return 0;
}

void engine_stop_preparing(struct engine *e)
{
    if (e)
        mailbox_post(&e->mailbox, run_stop_preparing, &e, sizeof(e));
}

int engine_open_config(struct engine *e, enum tls_file which, int *ret_fd, struct error *err)
{
    return broker_config(e->broker, which, ret_fd, err);
}

int engine_open_pushed(struct engine *e, const char *path, int *ret_fd, struct error *err)
{
    return broker_pushed_file(e->broker, path, ret_fd, err);
}

int engine_open_audit(struct engine *e, int *ret_fd, struct error *err)
{
    return broker_audit_log(e->broker, ret_fd, err);
}

int engine_lost_fd(const struct engine *e)
{
    return e->lost_fd;
}
