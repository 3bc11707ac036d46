/* SPDX-License-Identifier: Apache-2.0 */
#include "pushing.h"

#include "access/access_rules.h"
#include "api/api.h"
#include "base/log.h"
#include "base/version.h"
#include "engine/engine.h"
#include "push/push_url.h"
#include "serve/serve.h"

/* The objects that callbacks of push/ use. They live as long as the process. */
static struct pushing {
    struct engine *engine;
    struct serve *serve;
} pushing;

static int open_file(void *cookie, const char *path, int *ret_fd, struct error *err)
{
    const struct pushing *p = cookie;

    return engine_open_pushed(p->engine, path, ret_fd, err);
}

static void set_problem(void *cookie, const char *sentence)
{
    const struct pushing *p = cookie;

    engine_set_problem(p->engine, ENGINE_PROBLEM_PUSH, sentence);
}

/* Gets the viewer from the rules in force now: a reload may have changed them. */
static bool with_viewer(void *cookie, const char *name,
                        void (*use)(void *arg, const struct viewer *v), void *arg)
{
    const struct pushing *p = cookie;
    const struct access_rule *rule = access_rules_named(serve_access(p->serve), name);
    struct subject subject = { .kind = SUBJECT_USER, .uid = rule ? rule->uid : 0 };

    if (!rule || rule->role < ROLE_VIEW)
        return false;
    subject_apply(&subject, rule);
    use(arg, &subject.viewer);
    return true;
}

static void warn_of_secrets(const struct push_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        if (push_shows_secret(&config->targets[i]))
            log_warn("push: %s sends credentials or headers unencrypted to another machine: "
                     "give it a url with https://",
                     config->targets[i].name);
    }
}

int pushing_start(const struct push_config *config, const struct serving_opts *w,
                  struct engine *engine, struct api *api, struct serve *serve, const char *host,
                  const char *node, struct push **ret, struct error *err)
{
    struct push_opts o = { .config = config,
                           .backend = api_backend(api),
                           .pusher_fd = w->pusher_fd,
                           .store_fd = w->store_fd,
                           .node = node,
                           .host = host,
                           .version = FLAMED_VERSION,
                           .open_file = open_file,
                           .problem = set_problem,
                           .viewer = with_viewer,
                           .cookie = &pushing };
    int r;

    if (!config || w->pusher_fd < 0)
        return 0;
    warn_of_secrets(config);
    pushing = (struct pushing){ engine, serve };
    r = push_start(&o, ret, err);
    if (r == 0)
        api_set_push(api, *ret);
    return r;
}
