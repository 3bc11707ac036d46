/* SPDX-License-Identifier: Apache-2.0 */
#include "reload.h"

#include "access/access_rules.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/utc_text.h"
#include "tls_files.h"

#include <time.h>

/* Reads the file as it is now into @c. */
static int read_again(const struct reload *r, struct engine *engine, struct config *c,
                      struct error *err)
{
    _cleanup_close_ int fd = -1;
    uint64_t given = 0;
    int result = config_parse_argv(r->argc, r->argv, c, &given, err);

    if (result == 0)
        result = engine_open_config(engine, TLS_FILE_CONFIG, &fd, err);
    if (result > 0) {
        /* As at the start, only the default one may be missing. One that was there may be in
         * replacement now: without it, the rules that narrow rights would end. */
        if (strcmp(c->config_file, CONFIG_FILE_DEFAULT) == 0 && !r->config->has_file)
            return 0;
        error_remedy(err, "put it back; or restart flamed to run without it");
        return error_set(err, -ENOENT, "there is no configuration '%.128s'", c->config_file);
    }
    return result < 0 ? result : config_parse_fd(fd, given, c, err);
}

static void log_restart(const struct config *old, const struct config *fresh)
{
    _cleanup_buf_ struct buf names = BUF_UPTO(4096);

    config_differences(old, fresh, &names);
    if (names.n)
        log_warn(
            "a restart is needed for what has changed besides schedules, triggers and access: %s",
            names.p);
    if (!old->tls != !fresh->tls)
        log_warn("a restart is needed for tls_server_config to %s", fresh->tls ? "count" : "end");
}

/* ---- TLS ---- */

static void set_tls_problem(struct reload *r, struct engine *engine, const char *problem)
{
    if (strcmp(problem, r->tls_problem) == 0)
        return;
    if (problem[0])
        log_err("%s", problem);
    span_copy(span_of(problem), r->tls_problem, sizeof(r->tls_problem));
    engine_set_problem(engine, ENGINE_PROBLEM_TLS, problem);
}

/* Reports when the certificate expired, if it has. */
static void tell_expired(struct reload *r, struct engine *engine)
{
    int64_t end_s = tls_expires_s(r->tls);
    char problem[160] = "", text[UTC_TEXT_BYTES];

    if (end_s > 0 && time(NULL) > (time_t)end_s)
        snprintf(problem, sizeof(problem),
                 "the certificate of tls_server_config ended at %s: put a new one in its place",
                 utc_text((uint64_t)end_s * NSEC_PER_SEC, text));
    set_tls_problem(r, engine, problem);
}

static void take_tls(struct reload *r, struct tls *tls)
{
    tls_unref(r->tls);
    r->tls = tls;
    serve_set_tls(r->serve, tls_ref(tls));
}

void reload_tls(struct reload *r, struct engine *engine)
{
    char problem[sizeof(r->tls_problem)];
    struct error err = ERROR_NULL;
    struct tls *tls = NULL;
    int result;

    if (!r->tls || !r->config->tls)
        return;
    result = tls_files_look(engine, r->config->tls, r->tls, &tls, &err);
    if (result < 0) {
        snprintf(
            problem, sizeof(problem),
            "the files of tls_server_config cannot be used, those before stay in force: %s%s%s",
            err.msg[0] ? err.msg : "out of memory", err.remedy[0] ? ": " : "", err.remedy);
        set_tls_problem(r, engine, problem);
        return;
    }
    if (result == 0) {
        take_tls(r, tls);
        log_info("the files of tls_server_config have changed: new connections use them");
    }
    tell_expired(r, engine);
}

/* Reads the TLS settings of @fresh if flamed uses TLS. */
static int read_tls(const struct reload *r, struct engine *engine, const struct config *fresh,
                    struct tls **ret, struct error *err)
{
    const struct listen_rights rights = config_listen_rights(fresh);

    if (r->open && !(rights.tls && rights.authentication))
        return error_set(
            err, -EACCES,
            "flamed listens on an address that other machines reach, and the file no longer has %s",
            rights.tls ? "a rule under access with a token, password or certificate"
                       : "tls_server_config");
    return r->tls && fresh->tls ? tls_files_load(engine, fresh->tls, ret, err) : 0;
}

/* ---- secrets without TLS ---- */

void reload_plain(struct reload *r, struct engine *engine)
{
    static const char PROBLEM[] =
        "tokens and passwords may come over plain HTTP: a program with CAP_NET_RAW in this "
        "network, as in a container that shares it, can read them: have flamed listen on "
        "https://127.0.0.1:PORT or the Unix socket alone, or take that capability away";
    const struct access_rules *rules = serve_access(r->serve);
    bool now = r->plain && (access_rules_have(rules, ACCESS_BY_TOKEN) ||
                            access_rules_have(rules, ACCESS_BY_BASIC));

    if (now && !r->warned_plain)
        log_warn("%s", PROBLEM);
    if (now != r->warned_plain)
        engine_set_problem(engine, ENGINE_PROBLEM_PLAIN, now ? PROBLEM : "");
    r->warned_plain = now;
}

/* ---- the audit log ---- */

void reload_audit(struct reload *r, struct engine *engine, int *ret_fd)
{
    struct error err = ERROR_NULL;
    int fd = -1, result = engine_open_audit(engine, &fd, &err);

    if (result > 0)
        error_set(&err, -ENOENT, "flamed-broker was not given --audit-log");
    if (result != 0)
        log_err("the audit is written to the log only: %s", err.msg);
    else if (ret_fd)
        *ret_fd = fd;
    else
        serve_set_audit_file(r->serve, fd);
}

/* ---- all of it ---- */

void reload_config(struct reload *r, struct engine *engine)
{
    struct error err = ERROR_NULL;
    struct config fresh = { 0 };
    char problem[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 96];
    size_t schedules = 0, triggers = 0;
    struct tls *tls = NULL;
    int result = config_init(&fresh);

    if (r->config->audit_log[0])
        reload_audit(r, engine, NULL);
    if (result == 0)
        result = read_again(r, engine, &fresh, &err);
    if (result == 0) {
        schedules = fresh.rules ? fresh.rules->schedule_count : 0;
        triggers = fresh.rules ? fresh.rules->trigger_count : 0;
        result = access_rules_inherit(fresh.access, serve_access(r->serve), &err);
    }
    if (result == 0)
        result = read_tls(r, engine, &fresh, &tls, &err);
    if (result == 0)
        result = engine_set_rules(engine, fresh.rules, &err);
    if (result == 0) {
        fresh.rules = NULL; /* the engine owns these now */
        r->config->has_file = fresh.has_file;
        serve_set_access(r->serve, TAKE_PTR(fresh.access));
        reload_plain(r, engine);
        log_info("the configuration was read again: %zu schedules, %zu triggers", schedules,
                 triggers);
        log_restart(r->config, &fresh);
        if (tls) {
            take_tls(r, TAKE_PTR(tls));
            free(r->config->tls);
            r->config->tls = TAKE_PTR(fresh.tls);
            tell_expired(r, engine);
        }
        engine_set_problem(engine, ENGINE_PROBLEM_CONFIG, "");
    } else {
        snprintf(problem, sizeof(problem),
                 "the configuration was not read again, the one before stays in force: %s%s%s",
                 err.msg[0] ? err.msg : "out of memory", err.remedy[0] ? ": " : "", err.remedy);
        log_err("%s", problem);
        engine_set_problem(engine, ENGINE_PROBLEM_CONFIG, problem);
    }
    tls_unref(tls);
    config_deinit(&fresh);
}
