/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/supervise_api.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "supervisor/arguments.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef FLAMED_LIBEXEC_DIR
#define FLAMED_LIBEXEC_DIR "/usr/lib/flamed"
#endif

const char *supervise_option(const char *arg, const char *name)
{
    size_t n = strlen(name);

    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

int supervise_parse_int(const char *text, int *ret)
{
    uint64_t v;

    if (!span_parse_dec(span_of(text), &v) || v > INT_MAX)
        return -EINVAL;
    *ret = (int)v;
    return 0;
}

int supervise_parse_fds(const char *text, int ret[SUPERVISE_LISTEN_MAX], size_t *ret_count)
{
    struct span s = span_of(text), word;
    size_t count = 0;
    uint64_t v;

    while (span_take_until(&s, ',', &word)) {
        if (count == SUPERVISE_LISTEN_MAX || !span_parse_dec(word, &v) || v > INT_MAX)
            return -EINVAL;
        ret[count++] = (int)v;
    }
    *ret_count = count;
    return 0;
}

const char *supervise_level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error";
    case LOG_LEVEL_WARNING:
        return "warning";
    case LOG_LEVEL_DEBUG:
        return "debug";
    case LOG_LEVEL_INFO:
        break;
    }
    return "info";
}

int supervise_user(const char *name, uid_t *ret_uid, gid_t *ret_gid, bool *ret_fallback,
                   struct error *err)
{
    const struct passwd *pw = getpwnam(name ? name : "flamed");

    if (!pw && name)
        return error_set(err, -ENOENT, "there is no user '%s'", name);
    *ret_uid = pw ? pw->pw_uid : SUPERVISE_FALLBACK_ID;
    *ret_gid = pw ? pw->pw_gid : SUPERVISE_FALLBACK_ID;
    *ret_fallback = !pw;
    return 0;
}

/* Finds a program that was built or installed with this one. */
static int find_program(const char *name, char *path, size_t size, struct error *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n < 0)
        return error_errno(err, "cannot tell where this program lies");
    self[n] = '\0';
    slash = strrchr(self, '/');
    if (!slash)
        return error_set(err, -ENOENT, "cannot tell where this program lies");
    *slash = '\0';
    if (snprintf(path, size, "%s/%s", self, name) < (int)size && access(path, X_OK) == 0)
        return 0;
    if (snprintf(path, size, "%s/%s", FLAMED_LIBEXEC_DIR, name) < (int)size &&
        access(path, X_OK) == 0)
        return 0;
    error_set(err, -ENOENT, "there is no %s beside this program ('%s')", name, self);
    error_remedy(err, "install %s there or in %s", name, FLAMED_LIBEXEC_DIR);
    return -ENOENT;
}

int supervise_open_push(int *ret_fd, struct error *err)
{
    char path[PATH_MAX];
    int r = find_program("flamed-push", path, sizeof(path), err);

    if (r < 0)
        return r;
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? error_errno(err, "cannot open '%s'", path) : 0;
}

static int keep_over_exec(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return flags < 0 || fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) < 0 ? -errno : 0;
}

/* Adds the option @name=@fd and keeps the fd open across the exec. */
static int add_fd(struct arguments *a, const char *name, int fd)
{
    if (fd < 0)
        return 0;
    arguments_add(a, "%s=%d", name, fd);
    return keep_over_exec(fd);
}

static int add_listen(struct arguments *a, const struct supervise_opts *o)
{
    char list[ARGUMENT_MAX] = "";
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < o->listen_count; i++) {
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%d", i ? "," : "", o->listen_fds[i]);
        r = keep_over_exec(o->listen_fds[i]);
    }
    if (o->listen_count)
        arguments_add(a, "--listen-fds=%s", list);
    return r;
}

int supervise_exec(const struct supervise_opts *o, struct error *err)
{
    _cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct arguments a = { .count = 0 };
    char path[PATH_MAX], config[PATH_MAX + 16], audit[PATH_MAX + 16];
    int r;

    if (o->listen_count > SUPERVISE_LISTEN_MAX)
        return error_set(err, -E2BIG, "at most %d listening sockets", SUPERVISE_LISTEN_MAX);
    if (self < 0)
        return error_errno(err, "cannot open our own program");
    r = find_program("flamed-broker", path, sizeof(path), err);
    if (r < 0)
        return r;
    arguments_add(&a, "flamed-broker");
    arguments_add(&a, "--supervise");
    arguments_add(&a, "--uid=%u", o->uid);
    arguments_add(&a, "--gid=%u", o->gid);
    arguments_add(&a, "--log-level=%s", supervise_level_name(o->log_level));
    if (o->attach_mount)
        arguments_add(&a, "--attach-mount");
    if (o->bpf_only)
        arguments_add(&a, "--bpf-only");
    r = add_fd(&a, "--flamed-fd", self);
    r = r < 0 ? r : add_listen(&a, o);
    r = r < 0 ? r : add_fd(&a, "--store-fd", o->store_fd);
    r = r < 0 ? r : add_fd(&a, "--config-fd", o->config_fd);
    r = r < 0 ? r : add_fd(&a, "--push-fd", o->push_fd);
    if (r < 0)
        return error_code(err, r, "cannot hand over the open files");
    if (o->config_path) {
        if (snprintf(config, sizeof(config), "--config=%s", o->config_path) >= (int)sizeof(config))
            return error_set(err, -ENAMETOOLONG, "the path of the configuration is too long");
        arguments_borrow(&a, config);
    }
    if (o->audit_path) {
        if (snprintf(audit, sizeof(audit), "--audit-log=%s", o->audit_path) >= (int)sizeof(audit))
            return error_set(err, -ENAMETOOLONG, "the path of the audit log is too long");
        arguments_borrow(&a, audit);
    }
    arguments_add(&a, "--");
    for (size_t i = 0; o->extra && o->extra[i]; i++) {
        if (i == ARGUMENTS_EXTRA_MAX || arguments_borrow(&a, o->extra[i]) < 0)
            return error_set(err, -E2BIG, "more than %d arguments", ARGUMENTS_EXTRA_MAX);
    }
    execv(path, a.argv);
    return error_errno(err, "cannot start '%s'", path);
}

static bool is_socket(int fd, int type, bool listening)
{
    int got_type = 0, got_listening = 0;
    socklen_t n = sizeof(int);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &got_type, &n) == 0 && got_type == type &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &got_listening, &n) == 0 &&
           (got_listening != 0) == listening;
}

static bool is_mode(int fd, mode_t type)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* Parses one option of the worker. Return: 0, or -EINVAL. */
static int worker_option(const char *arg, struct supervise_worker *w)
{
    const char *v;

    if ((v = supervise_option(arg, "--broker-fd")))
        return supervise_parse_int(v, &w->broker_fd);
    if ((v = supervise_option(arg, "--listen-fds")))
        return supervise_parse_fds(v, w->listen_fds, &w->listen_count);
    if ((v = supervise_option(arg, "--store-fd")))
        return supervise_parse_int(v, &w->store_fd);
    if ((v = supervise_option(arg, "--config-fd")))
        return supervise_parse_int(v, &w->config_fd);
    if ((v = supervise_option(arg, "--push-fd")))
        return supervise_parse_int(v, &w->push_fd);
    if ((v = supervise_option(arg, "--notes-fd")))
        return supervise_parse_int(v, &w->notes_fd);
    if ((v = supervise_option(arg, "--log-level")))
        return log_level_parse(v, &w->log_level);
    return -EINVAL;
}

static bool worker_fds_valid(const struct supervise_worker *w)
{
    if (!is_socket(w->broker_fd, SOCK_SEQPACKET, /* listening= */ false))
        return false;
    for (size_t i = 0; i < w->listen_count; i++) {
        if (!is_socket(w->listen_fds[i], SOCK_STREAM, /* listening= */ true))
            return false;
    }
    return (w->store_fd < 0 || is_mode(w->store_fd, S_IFDIR)) &&
           (w->config_fd < 0 || is_mode(w->config_fd, S_IFREG)) &&
           (w->notes_fd < 0 || is_mode(w->notes_fd, S_IFREG)) &&
           (w->push_fd < 0 || is_mode(w->push_fd, S_IFREG));
}

int supervise_worker_parse(int argc, char **argv, struct supervise_worker *ret, struct error *err)
{
    struct supervise_worker w = {
        .broker_fd = -1,
        .store_fd = -1,
        .config_fd = -1,
        .notes_fd = -1,
        .push_fd = -1,
        .log_level = LOG_LEVEL_INFO,
    };
    int i;

    if (argc < 2 || strcmp(argv[1], "--worker") != 0)
        return 1;
    /* Otherwise ps would show the number of the fd that was executed. */
    prctl(PR_SET_NAME, "flamed");
    for (i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (worker_option(argv[i], &w) < 0)
            return error_set(err, -EINVAL, "--worker is for flamed-broker to use; '%s'", argv[i]);
    }
    w.extra = MIN(i + 1, argc);
    if (!worker_fds_valid(&w))
        return error_set(err, -EINVAL,
                         "--worker is for flamed-broker to use; the fds are not what it passes");
    fcntl(w.broker_fd, F_SETFD, FD_CLOEXEC);
    for (size_t k = 0; k < w.listen_count; k++)
        fcntl(w.listen_fds[k], F_SETFD, FD_CLOEXEC);
    if (w.store_fd >= 0)
        fcntl(w.store_fd, F_SETFD, FD_CLOEXEC);
    if (w.config_fd >= 0)
        fcntl(w.config_fd, F_SETFD, FD_CLOEXEC);
    if (w.notes_fd >= 0)
        fcntl(w.notes_fd, F_SETFD, FD_CLOEXEC);
    if (w.push_fd >= 0)
        fcntl(w.push_fd, F_SETFD, FD_CLOEXEC);
    *ret = w;
    return 0;
}
