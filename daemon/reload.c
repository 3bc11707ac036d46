/* SPDX-License-Identifier: Apache-2.0 */
#include "reload.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "serve/access_rules.h"

/* The file as it is now, into @c. */
static int read_again(const struct reload *r, struct engine *engine, struct config *c,
                      struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    _cleanup_close_ int fd = -1;
    uint64_t given = 0;
    int result = config_parse_argv(r->argc, r->argv, c, &given, err);

    if (result == 0)
        result = engine_open_config(engine, &fd, err);
    if (result > 0) /* as at the start: only the default one may be missing */
        return strcmp(c->config_file, CONFIG_FILE_DEFAULT) == 0
                   ? 0
                   : error_set(err, -ENOENT, "there is no configuration '%.128s'", c->config_file);
    if (result < 0)
        return result;
    buf_init(&text, CONFIG_FILE_MAX_BYTES);
    result = buf_read_fd(&text, fd);
    if (result < 0)
        return error_code(err, result, "cannot read the configuration '%.128s'", c->config_file);
    return config_parse_yaml(buf_span(&text), c->config_file, given, c, err);
}

static void log_restart(const struct config *old, const struct config *fresh)
{
    _cleanup_buf_ struct buf names = BUF_NULL;

    buf_init(&names, 4096);
    config_differences(old, fresh, &names);
    if (names.n)
        log_warn(
            "a restart is needed for what has changed besides schedules, triggers and access: %s",
            names.p);
}

void reload_config(struct reload *r, struct engine *engine)
{
    struct error err = ERROR_NULL;
    struct config fresh = { 0 };
    char problem[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 96];
    size_t schedules = 0, triggers = 0;
    int result = config_init(&fresh);

    if (result == 0)
        result = read_again(r, engine, &fresh, &err);
    if (result == 0) {
        schedules = fresh.rules ? fresh.rules->schedule_count : 0;
        triggers = fresh.rules ? fresh.rules->trigger_count : 0;
        result = access_rules_inherit(fresh.access, serve_access(r->serve), &err);
    }
    if (result == 0)
        result = engine_set_rules(engine, fresh.rules, &err);
    if (result == 0) {
        fresh.rules = NULL; /* the engine's now */
        serve_set_access(r->serve, TAKE_PTR(fresh.access));
        log_info("the configuration was read again: %zu schedules, %zu triggers", schedules,
                 triggers);
        log_restart(r->config, &fresh);
        engine_set_config_problem(engine, "");
    } else {
        snprintf(problem, sizeof(problem),
                 "the configuration was not read again, the one before stays in force: %s%s%s",
                 err.msg[0] ? err.msg : "out of memory", err.remedy[0] ? ": " : "", err.remedy);
        log_err("%s", problem);
        engine_set_config_problem(engine, problem);
    }
    config_deinit(&fresh);
}
