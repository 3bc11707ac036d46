/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for separate debug files. The broker builds every path itself.
 */
#include "base/cleanup.h"
#include "broker/mapped.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define DEBUG_MAX_BYTES (UINT64_C(8) << 30)
#define DEBUG_FOLDER "usr/lib/debug"
#define SHARED_FOLDER DEBUG_FOLDER "/.dwz" /* folder of parts that debug files share */
/* Cache of debuginfod's clients that run as root. */
#define CACHE_FOLDER "root/.cache/debuginfod_client"

/* Follows symbolic links inside the root: some distributions name debug files by build-id through
 * them. */
static const struct file_rule DEBUG_RULE = { .max_bytes = DEBUG_MAX_BYTES,
                                             .elf = true,
                                             .follow = true };

/* Follows no symbolic link: debuginfod's client names the files of its cache itself. */
static const struct file_rule CACHE_RULE = { .max_bytes = DEBUG_MAX_BYTES, .elf = true };

/* Tries @path. A file that @rule refuses counts as absent: another root may have the right file. */
static int try_path(int root_fd, const char *path, const struct file_rule *rule, int *ret_fd)
{
    return root_open(root_fd, path, rule, ret_fd, NULL) == 0 ? 0 : BROKER_ABSENT;
}

/* Gets the rule for the root of @t: files that its user could read. 0, PROC_GONE, -errno. */
static int rule_of(const struct server *s, const struct target *t, struct file_rule *ret,
                   struct error *err)
{
    struct proc_status status;
    int r = proc_read_status(s->proc_fd, t->host_pid, &status);

    if (r < 0)
        return error_code(err, r, "cannot read the status of process %d", t->host_pid);
    *ret = DEBUG_RULE;
    ret->target = t;
    ret->readable = true;
    ret->uid = status.uid;
    return r;
}

/* Opens the target and its root, and gets the rule for it. 0, PROC_GONE, -errno. */
static int open_target(struct server *s, const struct target_fields *of, struct target *ret,
                       int *ret_root, struct file_rule *ret_rule, struct error *err)
{
    return target_pin(s, of, ret, err) ?: target_open_root(ret, ret_root, err) ?:
           rule_of(s, ret, ret_rule, err);
}

/* Tries @path in the target's root, then in the host's. */
static int try_roots(const struct server *s, int root_fd, const char *path,
                     const struct file_rule *rule, int *ret_fd)
{
    int r = try_path(root_fd, path, rule, ret_fd);

    return r == 0 ? r : try_path(s->host_root_fd, path, &DEBUG_RULE, ret_fd);
}

static void build_id_path(const struct build_id_fields *q, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/.build-id/%02x/", DEBUG_FOLDER, q->bytes[0]);

    for (uint32_t i = 1; i < q->n; i++)
        n += snprintf(path + n, size - (size_t)n, "%02x", q->bytes[i]);
    snprintf(path + n, size - (size_t)n, ".debug");
}

/* Tries @folder, a cache of debuginfod. */
static int try_cache(int root_fd, const char *folder, const struct build_id_fields *q,
                     const struct file_rule *rule, int *ret_fd)
{
    struct file_rule own = *rule;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/", folder);

    if (n < 0 || (size_t)n + 2 * BROKER_BUILD_ID_MAX + sizeof("/debuginfo") > sizeof(path))
        return BROKER_ABSENT;
    for (uint32_t i = 0; i < q->n; i++)
        n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", q->bytes[i]);
    snprintf(path + n, sizeof(path) - (size_t)n, "/debuginfo");
    own.follow = false;
    return try_path(root_fd, path, &own, ret_fd);
}

/* Gets the folder of debuginfod's cache from the broker's own environment, which the administrator
 * sets. Returns false unless the path is absolute. */
static bool cache_of_environment(char *path, size_t size)
{
    const char *folder = secure_getenv("DEBUGINFOD_CACHE_PATH"), *rest = "";
    int n;

    if (!folder || !*folder) {
        folder = secure_getenv("XDG_CACHE_HOME");
        rest = "/debuginfod_client";
    }
    n = folder && *folder == '/' ? snprintf(path, size, "%s%s", folder, rest) : -1;
    return n > 0 && (size_t)n < size;
}

static int try_host_caches(const struct server *s, const struct build_id_fields *q, int *ret_fd)
{
    char folder[PATH_MAX];

    if (cache_of_environment(folder, sizeof(folder)) &&
        try_cache(s->host_root_fd, folder, q, &CACHE_RULE, ret_fd) == 0)
        return 0;
    return try_cache(s->host_root_fd, CACHE_FOLDER, q, &CACHE_RULE, ret_fd);
}

/*
 * debug. Safe: the path is hex digits of the build-id below a fixed folder. That folder is in the
 * target's root (links cannot leave it; the file is its user's or readable for all) or in the
 * host's. Or it is the cache on the host that the broker's own environment names. The file is a
 * regular ELF file. Debug files are public by nature.
 */
int request_debug(struct server *s, const struct build_id_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int root = -1;
    struct file_rule rule;
    char path[sizeof(DEBUG_FOLDER) + 32 + 2 * BROKER_BUILD_ID_MAX];
    int fd = -1, r;

    r = open_target(s, &q->target, &t, &root, &rule, &rep->err);
    if (r)
        return r;
    build_id_path(q, path, sizeof(path));
    r = try_roots(s, root, path, &rule, &fd);
    if (r)
        r = try_cache(root, CACHE_FOLDER, q, &rule, &fd);
    if (r)
        r = try_host_caches(s, q, &fd);
    return r ? r : reply_fd(rep, fd);
}

/*
 * debug_shared. Safe: as debug, below another fixed folder. No component of the name is empty or
 * begins with a dot, so the path stays there.
 */
int request_debug_shared(struct server *s, const struct shared_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int root = -1;
    struct file_rule rule;
    char path[sizeof(SHARED_FOLDER "/") + BROKER_NAME_MAX];
    int fd = -1, r;

    r = open_target(s, &q->target, &t, &root, &rule, &rep->err);
    if (r)
        return r;
    snprintf(path, sizeof(path), SHARED_FOLDER "/%s", q->name);
    r = try_roots(s, root, path, &rule, &fd);
    return r ? r : reply_fd(rep, fd);
}

/* Tries @name in the debug folder of a root. */
static int try_folder(int root_fd, const char *folder, const char *name,
                      const struct file_rule *rule, int *ret_fd)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), DEBUG_FOLDER "%s/%s", folder, name);

    return n < (int)sizeof(path) ? try_path(root_fd, path, rule, ret_fd) : BROKER_ABSENT;
}

/* Tries @folder, which holds the library of the mapping @q, and its subfolder .debug. If the
 * library cannot be inspected, opens nothing beside it. */
static int try_beside(const struct target *t, const struct debuglink_fields *q, int root_fd,
                      const char *folder, const struct file_rule *rule, int *ret_fd)
{
    static const char *const BETWEEN[] = { "/", "/.debug/" };
    struct file_rule beside = *rule;
    _cleanup_close_ int library = -1;
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "map_files/%jx-%jx", (uintmax_t)q->at.start, (uintmax_t)q->at.end);
    library = openat(t->dir_fd, path, O_PATH | O_CLOEXEC);
    if (library < 0 || fstat(library, &st) < 0)
        return BROKER_ABSENT;
    beside.follow = false;
    beside.beside = true;
    beside.beside_uid = st.st_uid;
    beside.mount = file_mount(library);
    for (size_t i = 0; i < ARRAY_SIZE(BETWEEN); i++) {
        int n = snprintf(path, sizeof(path), "%s%s%s", folder, BETWEEN[i], q->name);

        if (n < (int)sizeof(path) && try_path(root_fd, path, &beside, ret_fd) == 0)
            return 0;
    }
    return BROKER_ABSENT;
}

/*
 * debuglink. Safe: the folder is that of a file which the target has mapped to execute, as the
 * kernel names it, in the target's own root. The opened file is on the same mount, without a link
 * on the way, and has the owner of the mapped file. Or the folder is the same path below
 * /usr/lib/debug, in the target's root or on the host. flamed gives only a base name without a
 * slash or a leading dot. The file is a regular ELF object, so no configuration, key, data or core
 * file, and one that the target's user could read.
 */
int request_debuglink(struct server *s, const struct debuglink_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int root = -1;
    struct mapped m = { 0 };
    struct file_rule rule;
    char *slash;
    int fd = -1, r;

    r = open_target(s, &q->at.target, &t, &root, &rule, &rep->err)
            ?: mapped_find(&t, q->at.start, q->at.end, &m, &rep->err);
    if (r)
        return r;
    slash = strrchr(m.path, '/');
    if (!slash)
        return BROKER_ABSENT;
    *slash = '\0';
    r = try_beside(&t, q, root, m.path, &rule, &fd);
    if (r)
        r = try_folder(root, m.path, q->name, &rule, &fd);
    if (r)
        r = try_folder(s->host_root_fd, m.path, q->name, &DEBUG_RULE, &fd);
    return r ? r : reply_fd(rep, fd);
}
