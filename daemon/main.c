/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed: reads its options, opens everything that needs rights, and serves (serving.h). Started by
 * root it becomes the supervisor (supervisor/supervise_api.h), which starts it again as the worker.
 * Started by another user (systemd) it connects to flamed-broker's socket. Before it reads anything
 * it starts the namer (namer/namer_process.h), which is this program, too.
 */
#include "access/access_rules.h"
#include "base/cleanup.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/version.h"
#include "broker_client/wire.h"
#include "config.h"
#include "hotspot/hotspot.h"
#include "login.h"
#include "namer/namer_process.h"
#include "notify.h"
#include "profile/handlers.h"
#include "push/push.h"
#include "quarantine/quarantine.h"
#include "serving.h"
#include "stall_exit.h"
#include "store/folder.h"
#include "supervisor/supervise_api.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <sys/stat.h>

#define BROKER_SOCKET "/run/flamed-broker/broker.sock"
#define RUN_FOLDER "/run/flamed"
/* Freed blocks of this size or more go back to the system at once. Otherwise glibc keeps tens of MB
 * for the next large block. */
#define LARGE_BYTES (256 << 10)
#define NOTES_FILE RUN_FOLDER "/quarantine"
#define FILES_FOR_ITSELF 64 /* files that flamed opens, JVMs aside */
#define FILES_OF_A_JVM 7
#define FEW_JVMS 512 /* flamed warns if its limit of open files suffices for fewer JVMs */

/* ---- opening files and sockets with root's rights ---- */

/* Opens the store. Files that this process makes from now on are for flamed's user alone. */
static int open_store(const char *path, uid_t uid, gid_t gid, int *ret_fd, struct error *err)
{
    umask(077);
    return store_folder_open(path, uid, gid, ret_fd, err);
}

static int check_hosts(const struct config *c, struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->allowed_hosts.count; i++)
        r = origin_host_check(c->allowed_hosts.items[i], err);
    return r;
}

/* Opens the other address of localhost for each address of localhost in @fds. Then no other program
 * can get plain text that clients send there. */
static int open_twins(const struct config *c, int fds[SUPERVISE_LISTEN_MAX], size_t *ret_count,
                      struct error *err)
{
    size_t count = *ret_count;

    for (size_t i = 0; i < count && *ret_count < SUPERVISE_LISTEN_MAX; i++) {
        int r = listen_wants_tls(c->listen.items[i])
                    ? LISTEN_NONE
                    : listen_open_twin(fds, *ret_count, i, &fds[*ret_count], err);

        if (r < 0)
            return r;
        if (r == 0) {
            log_info("listening on the other address of localhost, too, for %s",
                     c->listen.items[i]);
            (*ret_count)++;
        }
    }
    return 0;
}

static int open_listeners(const struct config *c, int fds[SUPERVISE_LISTEN_MAX], size_t *ret_count,
                          struct error *err)
{
    const struct listen_rights rights = config_listen_rights(c);

    if (geteuid() == 0 && mkdir(RUN_FOLDER, 0755) < 0 && errno != EEXIST)
        log_debug_errno(-errno, "cannot make %s", RUN_FOLDER);
    for (size_t i = 0; i < c->listen.count && i < SUPERVISE_LISTEN_MAX; i++) {
        int r = listen_open(c->listen.items[i], &rights, &fds[i], err);

        if (r < 0)
            return r;
        *ret_count = i + 1;
        log_info("listening on %s", c->listen.items[i]);
    }
    return open_twins(c, fds, ret_count, err);
}

static void log_error(int r, const struct error *err)
{
    if (!err->msg[0])
        log_err_errno(r, "cannot start");
    else if (err->remedy[0])
        log_err("%s: %s", err->msg, err->remedy);
    else
        log_err("%s", err->msg);
}

/* Writes @path as an absolute path. Returns false if that is unknown: then a reload will not read
 * the file. */
static bool absolute_path(const char *path, char *buf, size_t size)
{
    char cwd[PATH_MAX] = "";

    if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
        return false;
    return snprintf(buf, size, "%s%s%s", cwd, cwd[0] ? "/" : "", path) < (int)size;
}

/* Runs when started by root: opens everything and becomes the supervisor. Returns only on
 * failure. */
static int become_supervisor(int argc, char **argv, const struct config *c, struct error *err)
{
    struct supervise_opts o = { .store_fd = -1,
                                .push_fd = -1,
                                .config_fd = -1,
                                .log_level = (enum log_level)c->log_level,
                                .attach_mount = c->broker.attach_mount,
                                .bpf_only = c->broker.bpf_only,
                                .audit_path = c->audit_log[0] ? c->audit_log : NULL,
                                .extra = argc > 1 ? argv + 1 : NULL };
    char config_path[PATH_MAX];
    bool fallback;
    int r;

    if (absolute_path(c->config_file, config_path, sizeof(config_path)))
        o.config_path = config_path;
    r = supervise_user(strcmp(c->user, "flamed") == 0 ? NULL : c->user, &o.uid, &o.gid, &fallback,
                       err);
    if (r < 0)
        return r;
    if (fallback)
        log_info("there is no user 'flamed' here: flamed runs as uid %u", o.uid);
    r = check_hosts(c, err) ?:
        access_rules_resolve(c->access, NULL, err) ?:
        open_listeners(c, o.listen_fds, &o.listen_count, err) ?:
        open_store(c->store.folder, o.uid, o.gid, &o.store_fd, err);
    if (r < 0)
        return r;
    if (c->push)
        r = supervise_open_push(&o.push_fd, err);
    if (r < 0)
        return r;
    /* Missing: defaults apply, as before. */
    o.config_fd = open(c->config_file, O_RDONLY | O_CLOEXEC);
    return supervise_exec(&o, err);
}

/* ---- the worker ---- */

/* Starts flamed-push from the program @fd. -1 means that the configuration named no targets when
 * root started flamed, and names some now. */
static int start_pusher(int fd, const struct push_config *config, int *ret_fd, struct error *err)
{
    _cleanup_close_ int own = -1;
    int r = fd < 0 ? supervise_open_push(&own, err) : 0;

    return r < 0 ? r : pusher_start(fd < 0 ? own : fd, config, ret_fd, err);
}

/* Runs the worker that the supervisor started. @argv[@sw->extra..] are the options of the
 * supervisor. */
static int supervised_worker(int argc, char **argv, const struct supervise_worker *sw,
                             struct config *c, struct error *err)
{
    struct serving_opts w = { .broker_fd = sw->broker_fd,
                              .pusher_fd = -1,
                              .store_fd = sw->store_fd,
                              .notes_fd = sw->notes_fd,
                              .notify_fd = notify_open(),
                              .listen_count = sw->listen_count,
                              .supervised = true };
    uint64_t given = 0;
    int r;

    r = namer_start(&w.namer_fd, err);
    if (r < 0)
        return r;
    memcpy(w.listen_fds, sw->listen_fds, sizeof(w.listen_fds));
    argv[sw->extra - 1] = argv[0];
    w.argc = argc - sw->extra + 1;
    w.argv = argv + sw->extra - 1;
    r = config_parse_argv(w.argc, w.argv, c, &given, err);
    if (r == 0 && sw->config_fd >= 0)
        r = config_parse_fd(sw->config_fd, given, c, err);
    if (r == 0 && c->push)
        r = start_pusher(sw->push_fd, c->push, &w.pusher_fd, err);
    return r < 0 ? r : serving_run(c, &w, err);
}

/* Runs the worker under systemd, which takes the supervisor's place and starts the broker as a
 * service of its own. */
static int service_worker(int argc, char **argv, struct config *c, struct error *err)
{
    struct serving_opts w = { .broker_fd = -1,
                              .pusher_fd = -1,
                              .store_fd = -1,
                              .notes_fd = -1,
                              .notify_fd = notify_open(),
                              .argc = argc,
                              .argv = argv };
    int r;

    r = namer_start(&w.namer_fd, err);
    if (r == 0 && c->push)
        r = start_pusher(-1, c->push, &w.pusher_fd, err);
    if (r < 0)
        return r;
    r = wire_connect(BROKER_SOCKET, &w.broker_fd, err);
    if (r < 0) {
        error_remedy(err, "start flamed as root, or start flamed-broker.service first");
        return r;
    }
    r = check_hosts(c, err) ?:
        open_listeners(c, w.listen_fds, &w.listen_count, err) ?:
        open_store(c->store.folder, geteuid(), getegid(), &w.store_fd, err);
    if (r < 0)
        return r;
    r = quarantine_open(NOTES_FILE, &w.notes_fd);
    if (r < 0)
        log_warn_errno(r,
                       "cannot open %s: after a restart flamed will not know which processes it "
                       "has to quarantine",
                       NOTES_FILE);
    return serving_run(c, &w, err);
}

/* Prints @message and its remedy. Returns the exit status. */
static int print_failure(const char *message, const struct error *err)
{
    fprintf(stderr, "%s%s%s\n", message, err->remedy[0] ? ": " : "", err->remedy);
    return 1;
}

/* Does --help. Returns the exit status. */
static int print_help(void)
{
    _cleanup_buf_ struct buf text = BUF_UPTO((size_t)64 << 10);

    config_help(&text);
    return text.error || fputs(text.p, stdout) < 0;
}

/* Does --new-token. Returns the exit status. */
static int print_token(const char *name)
{
    char token[ACCESS_TOKEN_TEXT], hash[2 * ACCESS_HASH_BYTES + 1];

    if (access_token_new(token, hash) < 0) {
        fputs("cannot make a token: the kernel gives no random bytes\n", stderr);
        return 1;
    }
    printf("# The token, shown only this once: give it to its user.\n%s\n\n"
           "# For /etc/flamed/flamed.yaml; then systemctl reload flamed.\n"
           "# Roles: health, view, profile, attach, manage.\n"
           "access:\n  - name: %s\n    token_sha256: %s\n    role: view\n",
           token, name, hash);
    return 0;
}

/* Does --check-config. @r is the result of config_load(). Returns the exit status. */
static int print_check(const struct config *c, int r, struct error *err)
{
    const struct listen_rights rights = config_listen_rights(c);

    for (size_t i = 0; r == 0 && i < c->listen.count; i++)
        r = listen_check(c->listen.items[i], &rights, err);
    if (r == 0)
        r = check_hosts(c, err);
    if (r == 0)
        r = access_rules_resolve(c->access, NULL, err);
    if (r == 0)
        r = handlers_set_own(c->requests.operation_callers, err)
                ?: hotspot_log_keys_set(c->requests.mdc_keys, err);
    if (r < 0)
        return print_failure(err->msg[0] ? err->msg : strerror(-r), err);
    printf("%s: ok: %zu schedules, %zu triggers\n", c->config_file,
           c->rules ? c->rules->schedule_count : 0, c->rules ? c->rules->trigger_count : 0);
    return 0;
}

/* Runs the option that ends flamed at once, if one is given. @r is the result of config_load().
 * Returns false if flamed has to start. */
static bool is_answered(const struct config *c, int r, struct error *err, int *ret_status)
{
    if (c->only.check_config)
        *ret_status = print_check(c, r, err);
    else if (r < 0)
        return false;
    else if (c->new_token && c->new_token[0])
        *ret_status = print_token(c->new_token);
    else if (c->only.login)
        *ret_status = login_print(c, err) < 0 ? print_failure(err->msg, err) : 0;
    else if (c->only.help)
        *ret_status = print_help();
    else if (c->only.version)
        *ret_status = printf("flamed " FLAMED_VERSION "\n") < 0;
    else
        return false;
    return true;
}

/* A shell's soft limit of 1,024 open files is for programs that use select(2). Children inherit. */
static void allow_open_files(void)
{
    uint64_t files = fds_raise_limit(FDS_WANTED);

    if (files && files < FILES_FOR_ITSELF + FEW_JVMS * FILES_OF_A_JVM)
        log_warn("flamed may open %llu files at once, which is enough for about %llu JVMs: raise "
                 "its hard limit of open files (ulimit -Hn)",
                 (unsigned long long)files,
                 (unsigned long long)(files - MIN(files, (uint64_t)FILES_FOR_ITSELF)) /
                     FILES_OF_A_JVM);
}

int main(int argc, char **argv)
{
    _cleanup_(config_deinit) struct config c = { 0 };
    struct supervise_worker sw;
    struct error err = ERROR_NULL;
    int r, supervised, status;

    if (argc == 2 && strcmp(argv[1], NAMER_OPTION) == 0)
        return namer_run();
    log_init("flamed", LOG_LEVEL_INFO);
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    supervised = supervise_worker_parse(argc, argv, &sw, &err);
    if (supervised == 0) {
        log_init("flamed", sw.log_level);
        r = config_init(&c) ?: supervised_worker(argc, argv, &sw, &c, &err);
    } else if (supervised < 0) {
        r = supervised;
    } else {
        r = config_load(argc, argv, &c, &err);
        if (is_answered(&c, r, &err, &status))
            return status;
        if (r == 0) {
            log_init("flamed", (enum log_level)c.log_level);
            allow_open_files();
            r = geteuid() == 0 ? become_supervisor(argc, argv, &c, &err)
                               : service_worker(argc, argv, &c, &err);
        }
    }
    if (r != 0)
        log_error(r, &err);
    status = r == 0 ? 0 : r == -EINVAL ? SUPERVISE_EXIT_FINAL : 1; /* a restart does not help */
    stall_exit_end(status);
    return status;
}
