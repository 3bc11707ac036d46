/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for files of the host: kernel symbols, flamed's configuration, files of container
 * runtimes, tracepoints.
 */
#include "base/buf.h"
#include "base/dir.h"
#include "base/tls_paths.h"
#include "broker/target/target.h"
#include "sample/tracepoint.h"

#include <fcntl.h>
#include <sys/stat.h>

#define CONFIG_MAX_BYTES (UINT64_C(4) << 20)
#define LOG_NAMES_MAX_BYTES ((size_t)4 << 20)
#define LOG_NAMES_MAX 16384
#define TRACEPOINTS_MAX_BYTES ((size_t)1 << 20)       /* some 30,000 names */
#define FLAMED_CONFIG_MAX_BYTES (UINT64_C(256) << 10) /* CONFIG_FILE_MAX_BYTES of config.h */

/*
 * kallsyms. Safe: a fixed file; the kernel decides at the open whether it shows addresses.
 * Addresses help to attack the kernel, so docs/privilege.md lists them.
 */
int request_kallsyms(struct server *s, const struct no_fields *q, struct reply *rep)
{
    int fd = server_open_kallsyms(s);

    (void)q;
    if (fd < 0)
        return errno == ENOENT ? BROKER_ABSENT
                               : error_errno(&rep->err, "cannot open /proc/kallsyms");
    return reply_fd(rep, fd);
}

/* Opens a file of the configuration by its path, because editors and Kubernetes replace the file.
 * Return: 0, BROKER_ABSENT, or -errno with @err. */
static int open_named(const char *path, int *ret_fd, struct stat *ret_st, struct error *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0 && errno == ENOENT)
        return BROKER_ABSENT;
    if (fd < 0 || fstat(fd, ret_st) < 0)
        return error_errno(err, "cannot open '%.200s'", path);
    if (!S_ISREG(ret_st->st_mode) || (uint64_t)ret_st->st_size > FLAMED_CONFIG_MAX_BYTES)
        return error_set(err, S_ISREG(ret_st->st_mode) ? -EFBIG : -EINVAL,
                         "'%.200s' is no regular file of at most 256 KiB", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

/* Opens the file for TLS that the configuration names. Only root may write the configuration,
 * because the broker reads that file with root's rights. */
static int open_tls_file(const char *config_path, int config_fd, const struct stat *config,
                         const struct config_fields *q, int *ret_fd, struct error *err)
{
    char path[TLS_PATH_MAX + 1], full[TLS_PATH_MAX + 1];
    _cleanup_buf_ struct buf text = BUF_UPTO(FLAMED_CONFIG_MAX_BYTES);
    struct stat st = { 0 };
    bool found;
    int r;

    if (config->st_uid != 0 || config->st_mode & 022) {
        error_remedy(err, "chown root and chmod go-w that file");
        return error_set(err, -EPERM,
                         "'%.200s' names files of root's, but others than root may "
                         "write to it",
                         config_path);
    }
    r = buf_read_fd(&text, config_fd);
    if (r < 0)
        return error_code(err, r, "cannot read '%.200s'", config_path);
    found = q->file == TLS_FILE_PUSHED
                ? tls_path_find_pushed(buf_span(&text), q->path_hash, path)
                : tls_path_find(buf_span(&text), (enum tls_file)q->file, path);
    if (!found || !tls_path_beside(config_path, path, full))
        return BROKER_ABSENT;
    r = open_named(full, ret_fd, &st, err);
    return r == BROKER_ABSENT ? error_set(err, -ENOENT, "there is no file '%.200s'", full) : r;
}

/*
 * config. Safe: the one file that the broker's command line names for flamed, which flamed also
 * reads at its own start. Or a file for TLS or of a secret that the configuration names, which
 * flamed cannot choose. Regular, at most 256 KiB.
 */
int request_config(struct server *s, const struct config_fields *q, struct reply *rep)
{
    _cleanup_close_ int fd = -1;
    struct stat st = { 0 };
    int r, tls_fd = -1;

    if (!s->config_path)
        return BROKER_ABSENT;
    r = open_named(s->config_path, &fd, &st, &rep->err);
    if (r != 0)
        return r;
    if (q->file == TLS_FILE_CONFIG)
        return reply_fd(rep, take_fd(&fd));
    r = open_tls_file(s->config_path, fd, &st, q, &tls_fd, &rep->err);
    return r != 0 ? r : reply_fd(rep, tls_fd);
}

/*
 * audit_log. Safe: the one file that the broker's command line names for the log. If it is missing,
 * it is made for root alone. It must be regular, no link, without a second name, and writable for
 * no other user; it is opened to append. A compromised flamed can falsify the log, as it can what
 * it writes to the journal from then on.
 */
int request_audit_log(struct server *s, const struct no_fields *q, struct reply *rep)
{
    _cleanup_close_ int fd = -1;
    struct stat st = { 0 };

    (void)q;
    if (!s->audit_path)
        return BROKER_ABSENT;
    fd = open(s->audit_path,
              O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(&rep->err, "cannot open '%.200s'", s->audit_path);
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return error_set(&rep->err, -EINVAL, "'%.200s' is no regular file with one name",
                         s->audit_path);
    /* In a folder that all users may write to, another user may have made the file, and could
     * change it. */
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022) {
        error_remedy(&rep->err, "move it away, or chown root and chmod 0600 it");
        return error_set(&rep->err, -EPERM,
                         "'%.200s' is user %u's, with mode %03o: others may "
                         "write to it",
                         s->audit_path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
    }
    return reply_fd(rep, take_fd(&fd));
}

/* Paths below the host's root: before and after the folder that the container's id names. */
static const struct {
    const char *before, *after;
} CONFIGS[] = {
    { "run/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json" },
    { "run/containers/storage/overlay-containers/", "/userdata/config.json" },
    { "var/lib/containers/storage/overlay-containers/", "/userdata/config.json" },
    { "var/lib/docker/containers/", "/config.v2.json" },
    { "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json" },
    { "run/containerd/io.containerd.runtime.v2.task/moby/", "/config.json" },
    { "run/containerd/io.containerd.runtime.v2.task/default/", "/config.json" },
};

/*
 * container_config. Safe: a fixed list of files; the id is 64 hex digits, so it can name nothing
 * else; regular, root's, one link, at most 4 MiB. The file holds the container's environment, as
 * the memory of its JVM does.
 */
int request_container_config(struct server *s, const struct container_fields *q, struct reply *rep)
{
    static const struct file_rule RULE = { .max_bytes = CONFIG_MAX_BYTES, .owned = true, .uid = 0 };
    char path[256];
    int fd = -1, r = BROKER_ABSENT;

    for (size_t i = 0; i < ARRAY_SIZE(CONFIGS) && r == BROKER_ABSENT; i++) {
        snprintf(path, sizeof(path), "%s%s%s", CONFIGS[i].before, q->id, CONFIGS[i].after);
        r = root_open(s->host_root_fd, path, &RULE, &fd, &rep->err);
    }
    return r ? r : reply_fd(rep, fd);
}

static int names_of(DIR *dir, int *ret_fd, struct error *err)
{
    _cleanup_buf_ struct buf names = BUF_UPTO(LOG_NAMES_MAX_BYTES);

    for (int i = 0; i < LOG_NAMES_MAX; i++) {
        const struct dirent *e = readdir(dir);

        if (!e)
            break;
        if (e->d_name[0] != '.')
            buf_add(&names, e->d_name, strlen(e->d_name) + 1);
    }
    if (names.error == -ENOMEM)
        return error_set(err, -ENOMEM, "no memory for the names in /var/log/containers");
    return memfd_of("container-logs", names.p, names.n, ret_fd, err);
}

/*
 * container_logs. Safe: names in one fixed folder of the host, at most 16,384; no file is opened.
 */
int request_container_logs(struct server *s, const struct no_fields *q, struct reply *rep)
{
    _cleanup_closedir_ DIR *dir = NULL;
    int fd = -1, r;

    (void)q;
    r = root_open_dir(s->host_root_fd, "var/log/containers", O_RDONLY, &fd, &rep->err);
    if (r)
        return r;
    dir = dir_take(fd);
    if (!dir)
        return error_errno(&rep->err, "cannot list /var/log/containers");
    r = names_of(dir, &fd, &rep->err);
    return r ? r : reply_fd(rep, fd);
}

/*
 * tracepoints. Safe: names in one fixed file of the kernel; at most 1 MiB.
 */
int request_tracepoints(struct server *s, const struct no_fields *q, struct reply *rep)
{
    _cleanup_buf_ struct buf names = BUF_UPTO(TRACEPOINTS_MAX_BYTES);
    int fd = -1, r;

    (void)s;
    (void)q;
    r = tracepoint_list(&names, &rep->err);
    if (r == 0)
        r = memfd_of("tracepoints", names.p, names.n, &fd, &rep->err);
    return r ? r : reply_fd(rep, fd);
}
