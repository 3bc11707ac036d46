/* SPDX-License-Identifier: Apache-2.0 */
#include "serving.h"

#include "api/api.h"
#include "base/cleanup.h"
#include "base/lent_thread.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory_guard.h"
#include "base/version.h"
#include "engine/engine.h"
#include "hotspot/hotspot.h"
#include "notify.h"
#include "profile/handlers.h"
#include "profile/service_counters.h"
#include "pushing.h"
#include "reload.h"
#include "sandbox.h"
#include "serve/audit.h"
#include "serve/serve.h"
#include "stall_exit.h"
#include "store/folder.h"
#include "store/history.h"
#include "store/owner_key.h"
#include "store/store.h"
#include "tls_files.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#define USERS_GROUP "flamed" /* members of this group may see and profile all */

/* Writes a text that differs by node, for the phases of its schedules. It is the same after a
 * restart. Call this before the sandbox. */
static void node_text(const char *host, char *buf, size_t size)
{
    _cleanup_buf_ struct buf id = BUF_UPTO(256);

    if (buf_read_at(&id, AT_FDCWD, "/etc/machine-id") < 0)
        buf_clear(&id);
    snprintf(buf, size, "%.64s/%.64s", id.p ? id.p : "", host);
}

/* Waits for a signal to end, or until the broker or the namer is lost. Returns 0 after a signal,
 * else -EPIPE. */
static int wait_for_end(int signal_fd, int namer_fd, struct engine *engine, struct reload *reload)
{
    struct pollfd fds[] = { { .fd = signal_fd, .events = POLLIN },
                            { .fd = engine_lost_fd(engine), .events = POLLIN },
                            { .fd = namer_fd > 0 ? namer_fd : -1 } };

    for (;;) {
        struct signalfd_siginfo si;

        int n = poll(fds, ARRAY_SIZE(fds), reload->tls ? TLS_FILES_LOOK_MS : -1);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            reload_tls(reload, engine);
        if (fds[1].revents) {
            log_err("flamed-broker ended: captures that run have failed; flamed exits and is "
                    "started again");
            return -EPIPE;
        }
        if (fds[2].revents && !fds[0].revents) {
            log_err(
                "flamed-namer ended, so no frame can be named: flamed exits and is started again");
            return -EPIPE;
        }
        if (!fds[0].revents || read(signal_fd, &si, sizeof(si)) != sizeof(si))
            continue;
        if (si.ssi_signo == SIGHUP) {
            reload_config(reload, engine);
            continue;
        }
        log_info("ending by signal %u", si.ssi_signo);
        return 0;
    }
}

/* Blocks the signals that wait_for_end() reads, for every thread to come. */
static int open_signals(int *ret_fd)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    *ret_fd = signalfd(-1, &set, SFD_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

/* Gets the path behind @fd, because SQLite wants paths. Call it before the sandbox, which hides
 * /proc/self/fd. */
static void path_of(int fd, char *buf, size_t size)
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, buf, size - 1);
    buf[MAX(n, 0)] = '\0';
}

/* Uses one arena for all threads. Otherwise every thread that renders keeps an arena as large as
 * its largest answer. With one arena, threads reuse each other's freed memory. (The lock is held
 * for moments, and small blocks have caches per thread.) Large blocks go back to the system when
 * they are freed. */
static void set_malloc_habits(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

/* Limits the memory that requests may take in addition to the memory that the configuration gives
 * to samples. */
static int guard_memory(const struct config *c, struct error *err)
{
    static const uint64_t USUAL = UINT64_C(256) << 20; /* given to samples by default */
    uint64_t configured = c->captures.max_bytes + c->recorder.max_bytes + c->answer_max_bytes;
    int r = memory_guard_open(MEMORY_GUARD_BYTES + (configured > USUAL ? configured - USUAL : 0));

    return r < 0 ? error_code(err, r, "cannot read flamed's own use of memory") : 0;
}

static bool speaks_tls(const struct config *c, int fd)
{
    return ANY_OF(i, c->listen.count,
                  listen_wants_tls(c->listen.items[i]) && listen_is_at(fd, c->listen.items[i]));
}

/* Chooses which listening sockets use TLS: those that other machines reach, even if the
 * configuration has changed since, and those that it names. */
static int choose_tls(const struct config *c, const struct serving_opts *w, uint32_t *ret,
                      struct reload *r, struct error *err)
{
    char path[LISTEN_PATH_BYTES];

    for (size_t i = 0; i < w->listen_count; i++) {
        bool public = listen_is_public(w->listen_fds[i]);

        if (public || speaks_tls(c, w->listen_fds[i]))
            *ret |= UINT32_C(1) << i;
        else
            r->plain = r->plain || !listen_unix_path(w->listen_fds[i], path);
        r->open |= public;
    }
    if (*ret && !c->tls)
        return error_set(
            err, -EINVAL,
            "the configuration has no tls_server_config, but an address that takes it");
    if (r->open && !config_listen_rights(c).authentication)
        return error_set(err, -EINVAL,
                         "the configuration has no rule for what is shown, but an address that "
                         "others than this machine reach");
    return 0;
}

static int start_serve(const struct config *c, const struct serving_opts *w, struct engine *engine,
                       const struct api *api, struct serve_opts *o, struct reload *reload,
                       struct error *err)
{
    int r = choose_tls(c, w, &o->listen_tls, reload, err);

    if (r == 0 && o->listen_tls)
        r = tls_files_load(engine, c->tls, &reload->tls, err);
    if (r == -ENOENT || r == -EPERM)
        r = -EINVAL; /* another start would not help, as for other errors in the configuration */
    if (r < 0)
        return r;
    if (c->audit_log[0])
        reload_audit(reload, engine, &o->audit_fd);
    o->tls = tls_ref(reload->tls);
    r = serve_start(o, api_backend(api), &reload->serve, err);
    if (r < 0) {
        tls_unref(o->tls);
        return r;
    }
    reload_tls(reload, engine); /* reports a certificate that has expired */
    reload_plain(reload, engine);
    return 0;
}

/* Starts the engine and hands it the rules of @c. */
static int start_engine(const struct engine_opts *o, struct config *c, struct engine **ret,
                        struct error *err)
{
    int r = engine_start(o, ret, err);

    setpriority(PRIO_PROCESS, 0, 0); /* only the engine's thread keeps a higher priority */
    if (r == 0 && c->rules)
        r = engine_set_rules(*ret, c->rules, err);
    if (r == 0)
        c->rules = NULL;
    return r;
}

/* ---- serving, behind the sandbox ---- */

struct serving {
    struct config *c;
    const struct serving_opts *w;
    struct store_opts store;
    struct history_opts history;
    struct engine_opts engine;
    struct serve_opts serve;
    struct reload reload;
    int signal_fd;
    struct error *err;
    const char *node;
    struct lent lent; /* the main thread, if the engine runs on it */
    int result;
};

/* Logs at the start how much of history_max_bytes the disk cannot hold. The sandbox forbids to
 * check this later. */
static void check_room(int store_fd, const char *path, const struct config *c)
{
    struct statvfs fs;
    struct stat file = { 0 };
    uint64_t room;

    if (!c->history.max_age_s || !c->recorder.hz || store_fd < 0 || fstatvfs(store_fd, &fs) < 0)
        return;
    if (fstatat(store_fd, STORE_FILE_HISTORY, &file, AT_SYMLINK_NOFOLLOW) < 0)
        file.st_size = 0;
    room = (uint64_t)fs.f_bavail * fs.f_frsize + (uint64_t)file.st_size;
    if (room < c->history.max_bytes)
        log_warn("the disk of %s has room for %llu MiB of history, not for the %llu MiB of "
                 "history_max_bytes: lower that, or free disk space",
                 path, (unsigned long long)(room >> 20),
                 (unsigned long long)(c->history.max_bytes >> 20));
}

/* Gives owners the numbers that they had before a restart: by the key in the quarantine's notes if
 * these have entries, else by the key in the store. */
static void number_owners(const struct serving_opts *w, struct quarantine *q)
{
    int r = w->store_fd < 0 ? 0 : store_owner_key(w->store_fd, /* replace= */ q->count, &q->key);

    if (r < 0)
        log_warn_errno(r, "the key of owners cannot be stored: after a restart the history counts "
                          "the JVMs of a container or user as those of another one");
    r = w->notes_fd < 0 ? 0 : quarantine_keep_key(w->notes_fd, &q->key);
    if (r < 0)
        log_warn_errno(r, "the key of owners cannot be noted");
    proc_owner_use_key(&q->key);
}

/* Begins to count by function if metrics_functions or metrics_heaviest asks for it. Returns 0, or
 * -errno with s->err. */
static int open_counters(struct serving *s)
{
    const struct config_list *patterns = &s->c->metrics.functions;
    struct service_counters_opts o = { .heaviest = s->c->metrics.heaviest };
    int r = 0;

    if (patterns->count)
        r = match_new((const char *const *)patterns->items, patterns->count, "metrics_functions",
                      &o.chosen, s->err);
    if (r == 0 && (o.heaviest || o.chosen))
        r = service_counters_new(&o, &s->engine.counters);
    if (r < 0)
        match_free(o.chosen);
    return r;
}

/* Opens the store and the history. Returns 0, or -errno with s->err. */
static int open_past(struct serving *s, struct store **ret_store, struct history **ret_history)
{
    char trouble[256];
    int r = store_open(&s->store, ret_store, s->err);

    if (r < 0)
        return r;
    store_problem(*ret_store, trouble, sizeof(trouble));
    if (trouble[0])
        log_warn("%s", trouble);
    s->engine.store = *ret_store;
    if (!s->history.max_age_s || s->engine.recorder_hz <= 0)
        return 0;
    r = history_open(&s->history, ret_history, s->err);
    if (r < 0)
        return r;
    history_problem(*ret_history, trouble, sizeof(trouble));
    if (trouble[0])
        log_warn("history: %s", trouble);
    s->engine.history = *ret_history;
    return open_counters(s);
}

/* Starts everything, and stops it at the end. Returns 0, or the error that ended it. */
static int serve_until_end(struct serving *s)
{
    struct store *store = NULL;
    struct engine *engine = NULL;
    struct api *api = NULL;
    struct push *push = NULL;
    struct history *history = NULL;
    int r = open_past(s, &store, &history) ?:
            start_engine(&s->engine, s->c, &engine, s->err) ?:
            api_new(engine, &api) ?:
            start_serve(s->c, s->w, engine, api, &s->serve, &s->reload, s->err);

    if (r == 0) {
        s->c->access = NULL; /* serve owns these now */
        r = pushing_start(s->c->push, s->w, engine, api, s->reload.serve, s->serve.host, s->node,
                          &push, s->err);
    }
    if (r == 0) {
        log_info("flamed " FLAMED_VERSION " serves; /readyz says what works");
        notify_send(s->w->notify_fd, "READY=1");
        r = wait_for_end(s->signal_fd, s->w->namer_fd, engine, &s->reload);
        notify_send(s->w->notify_fd, "STOPPING=1");
        if (r < 0)
            error_code(s->err, r, "a process that flamed needs has ended");
    }
    engine_stop_preparing(engine);
    push_end(push);
    serve_stop(s->reload.serve);
    tls_unref(s->reload.tls);
    api_end(api);
    engine_stop(engine);
    api_free(api);
    push_free(push);
    history_close(history);
    service_counters_free(s->engine.counters);
    store_close(store);
    return r;
}

static void *serve_main(void *arg)
{
    struct serving *s = arg;

    s->result = serve_until_end(s);
    lent_close(&s->lent);
    return NULL;
}

/* Serves on another thread, while the engine runs on this one. */
static int serve_beside(struct serving *s)
{
    pthread_t thread;
    int r;

    lent_init(&s->lent);
    s->engine.thread = &s->lent;
    r = -pthread_create(&thread, NULL, serve_main, s);
    if (r == 0) {
        lent_serve(&s->lent);
        pthread_join(thread, NULL);
        r = s->result;
    }
    lent_deinit(&s->lent);
    return r;
}

/* Returns true if new threads do not inherit this thread's priority, as in flamed.service. Only the
 * engine may run before the applications of the machine. */
static bool new_threads_come_after(void)
{
    int policy = sched_getscheduler(0);

    return policy >= 0 && policy & SCHED_RESET_ON_FORK;
}

int serving_run(struct config *c, const struct serving_opts *w, struct error *err)
{
    struct stall_exit stall_exit = { .notes_fd = w->notes_fd, .notify_fd = w->notify_fd };
    struct quarantine quarantine;
    struct utsname host = { .nodename = "" };
    char node[160];
    struct engine_opts engine_opts = {
        .broker_fd = w->broker_fd,
        .namer_fd = w->namer_fd,
        .captures_max = c->captures.max,
        .captures_max_bytes = c->captures.max_bytes,
        .samples_max = c->captures.samples_max,
        .show_arguments = c->show_arguments,
        .max_frames = (uint32_t)c->unwind_max_frames,
        .recorder_hz = (double)c->recorder.hz,
        .recorder_keep_ns = c->recorder.seconds * NSEC_PER_SEC,
        .recorder_max_bytes = c->recorder.max_bytes,
        .recorder_waits = c->recorder.waits,
        .recorder_requests = c->recorder.requests,
        .recorder_alloc = c->recorder.alloc,
        .allow_injection = c->symbols != CONFIG_SYMBOLS_MEMORY,
        .allow_mounts = c->broker.attach_mount,
        .external_url = c->metrics.external_url,
        .node = node,
        .quarantine = &quarantine,
        .look = stall_exit_look,
        .look_cookie = &stall_exit,
    };
    struct serve_opts serve_opts = {
        .listen_fds = w->listen_fds,
        .listen_count = w->listen_count,
        .version = FLAMED_VERSION,
        .host = host.nodename,
        .connections_max = (unsigned)c->connections_max,
        .captures_max = (unsigned)c->captures.max,
        .answer_max_bytes = c->answer_max_bytes,
        .idle_timeout_s = (unsigned)c->idle_timeout_s,
        .allowed_hosts = (const char *const *)c->allowed_hosts.items,
        .allowed_host_count = c->allowed_hosts.count,
        .mcp = c->mcp,
        .tcp_manages = c->tcp_manage,
        .audit_fd = -1,
        .journal_fd = audit_journal_open(getenv("JOURNAL_STREAM") ? AUDIT_JOURNAL : NULL),
    };
    struct sandbox_opts sandbox_opts = { .store_fd = w->store_fd };
    struct sandbox_report report = { 0 };
    char store_path[4096];
    _cleanup_close_ int signal_fd = -1;
    struct serving serving = { .c = c,
                               .w = w,
                               .store = { .dir_fd = w->store_fd,
                                          .dir = store_path,
                                          .max_bytes = c->store.max_bytes,
                                          .max_age_s = c->store.max_age_s },
                               .history = { .dir_fd = w->store_fd,
                                            .dir = store_path,
                                            .max_bytes = c->history.max_bytes,
                                            .max_age_s = c->history.max_age_s },
                               .reload = { .argc = w->argc, .argv = w->argv, .config = c },
                               .err = err };
    bool beside;
    int r;

    set_malloc_habits();
    r = guard_memory(c, err);
    if (r < 0)
        return r;
    engine_opts.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (engine_opts.proc_fd < 0)
        return error_errno(err, "cannot open /proc");
    proc_owner_use_mounts(engine_opts.proc_fd);
    sandbox_opts.proc_fd = engine_opts.proc_fd;
    r = peers_open(engine_opts.proc_fd, USERS_GROUP, &serve_opts.peers);
    if (r < 0)
        return error_code(err, r, "cannot prepare to identify clients");
    if (w->pusher_fd >= 0)
        peers_distrust_own(serve_opts.peers);
    sandbox_opts.cgroup_fd = peers_cgroup_fd(serve_opts.peers);
    r = access_rules_resolve(c->access, serve_opts.peers, err);
    if (r < 0)
        return r;
    serve_opts.access = c->access;
    r = handlers_set_own(c->requests.operation_callers, err)
            ?: hotspot_log_keys_set(c->requests.mdc_keys, err);
    if (r < 0)
        return r;
    r = open_signals(&signal_fd);
    if (r < 0)
        return error_code(err, r, "cannot prepare signals");
    serving.signal_fd = signal_fd;
    uname(&host);
    node_text(host.nodename, node, sizeof(node));
    path_of(w->store_fd, store_path, sizeof(store_path));
    umask(077);
    setenv("TZ", ":/etc/localtime", /* overwrite= */ 0); /* read once, before the sandbox */
    tzset();
    check_room(w->store_fd, store_path, c);
    r = w->store_fd < 0 ? 0 : store_folder_narrow(w->store_fd, store_path, err);
    if (r < 0)
        return r;
    quarantine_load(w->notes_fd, engine_opts.proc_fd, &quarantine);
    number_owners(w, &quarantine);
    if (quarantine.count)
        log_warn("%zu processes or containers are quarantined, because reading them stalled flamed "
                 "before",
                 quarantine.count);
    beside = new_threads_come_after();
    r = sandbox_enter(&sandbox_opts, &report, err);
    if (r < 0)
        return r;
    if (report.landlock_problem[0])
        log_warn("%s", report.landlock_problem);
    serving.node = node;
    serving.engine = engine_opts;
    serving.serve = serve_opts;
    return beside ? serve_beside(&serving) : serve_until_end(&serving);
}
