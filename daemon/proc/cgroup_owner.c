/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the owner of a process. A user can choose some names: of processes, and of cgroups below
 * the user's own manager. Such a name must not give one user many owners. Nor may it give a user
 * the owner of another user's container.
 */
#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/shares.h"
#include "proc/cgroup_folders.h"
#include "proc/container_cgroup.h"

#include <fcntl.h>

#define CGROUP_MAX_BYTES ((size_t)64 << 10)  /* 13 hierarchies, each path at its longest */
#define UID_MAP_MAX_BYTES ((size_t)16 << 10) /* 340 ranges, as many as the kernel takes */
#define USERS_OF_NAMESPACE UINT32_MAX

/* Hierarchies: 12 controllers of version 1, systemd's, version 2, and some that are named. */
#define MOUNTS_MAX 24
static struct {
    uint64_t hierarchy;
    int fd;
} mounts[MOUNTS_MAX];
static size_t mount_count;

struct search {
    struct cgroup_line line;
    int fd;
};

static bool open_if_whole(const struct mountinfo *m, void *cookie)
{
    struct search *search = cookie;
    struct span path;
    char point[256];

    if (m->point.n >= sizeof(point) || !cgroup_is_mounted(m, &search->line, &path) || path.n == 0)
        return false;
    span_copy(m->point, point, sizeof(point));
    search->fd = open(point, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return true;
}

/* Opens the folder where the hierarchy of @line is mounted as a whole. Return: -1 if it is not. */
static int open_mount(int proc_fd, const struct cgroup_line *line)
{
    struct search search = { .line = *line, .fd = -1 };

    search.line.path = SPAN("/");
    mountinfo_find(proc_fd, "self/mountinfo", open_if_whole, &search);
    return search.fd;
}

void proc_owner_use_mounts(int proc_fd)
{
    _cleanup_buf_ struct buf cgroup = BUF_UPTO(CGROUP_MAX_BYTES);
    struct cgroup_line line;
    struct span rest;

    if (buf_read_at(&cgroup, proc_fd, "self/cgroup") < 0)
        return;
    rest = buf_span(&cgroup);
    while (mount_count < MOUNTS_MAX && cgroup_take_line(&rest, &line)) {
        int fd = open_mount(proc_fd, &line);

        if (fd < 0)
            continue;
        mounts[mount_count].hierarchy = line.hierarchy;
        mounts[mount_count++].fd = fd;
    }
}

/* Returns the first run of 64 hexadecimal digits; empty if there is none. */
static struct span container_id(struct span text)
{
    size_t run = 0;

    for (size_t i = 0; i < text.n; i++) {
        run = ascii_is_lower_hex(text.p[i]) ? run + 1 : 0;
        if (run == CONTAINER_ID_DIGITS)
            return (struct span){ text.p + i + 1 - run, run };
    }
    return (struct span){ text.p, 0 };
}

static bool is_of_user(struct span part)
{
    return (span_starts_with(part, "user-") && span_ends_with(part, ".slice")) ||
           (span_starts_with(part, "user@") && span_ends_with(part, ".service"));
}

/* Beginnings of a cgroup's path, each down to one of its cgroups. */
struct parts {
    struct span container; /* down to the outermost cgroup of a container; empty: no container */
    struct span user;      /* down to the outermost cgroup of a user, outside of containers, or to
                            * the outermost one in which others than root may make cgroups; empty:
                            * no user */
    struct span bare;      /* down to a cgroup that may be a container's, outside of the other two;
                            * empty: none */
};

/* Returns whether containers may be in the folder @part, which is no container itself. */
static bool is_folder(struct span part, struct span parent)
{
    return span_ends_with(part, ".slice") || span_eq_str(part, "..") ||
           container_cgroup_folder(part) ||
           (span_starts_with(part, "pod") && container_cgroup_folder(parent));
}

/* Finds the outermost cgroups in @path. Below it, processes of the container or user can make
 * cgroups with any name. */
static struct parts find_parts(struct span path)
{
    struct span rest = path, parent = SPAN_NULL, part;
    bool in_folders = true;
    struct parts p = { 0 };

    for (; span_take_until(&rest, '/', &part); parent = part) {
        struct span id = container_id(part), down = { path.p, (size_t)(part.p + part.n - path.p) };
        struct container_cgroup named;

        if (!part.n)
            continue;
        if (is_of_user(part)) {
            p.user = down;
            return p;
        }
        if (id.n)
            down.n = (size_t)(id.p + id.n - path.p);
        if (id.n || container_cgroup_parse(part, parent, &named)) {
            p.container = down;
            return p;
        }
        if (!in_folders || is_folder(part, parent))
            continue;
        in_folders = false;
        if (container_cgroup_is_bare(part))
            p.bare = down;
    }
    return p;
}

/* Finds the outermost cgroup in which others than root may make cgroups (rootless containers,
 * Delegate=, a container's own user namespace). The names below it prove nothing. */
static void find_others(const struct cgroup_line *line, struct parts *p)
{
    struct span found = p->container.n ? p->container : p->user, path = line->path;

    if (span_starts_with(path, "/.."))
        return; /* outside of our cgroup namespace */
    if (found.n)
        path = (struct span){ found.p, span_rfind(found, '/') };
    path.n = cgroup_levels(path);
    for (size_t i = 0; i < mount_count; i++) {
        if (mounts[i].hierarchy != line->hierarchy || !cgroup_cut_to_root(mounts[i].fd, &path))
            continue;
        p->container = SPAN_NULL;
        p->user = path;
        if (p->bare.n > path.n)
            p->bare = SPAN_NULL;
        return;
    }
}

/* Returns the parts of all lines. A container's part begins at the root: outside of containers a
 * process could make a cgroup with any id below its own. */
static struct parts find_all(struct span cgroup)
{
    struct parts all = { 0 };
    struct cgroup_line line;

    while (cgroup_take_line(&cgroup, &line)) {
        struct parts p = find_parts(line.path);

        find_others(&line, &p);
        if (!all.container.n)
            all.container = p.container;
        if (p.user.n)
            all.user = p.user;
        if (container_cgroup_bare_counts(&line) && p.bare.n)
            all.bare = p.bare;
    }
    return all;
}

/* Returns @path down to its first service or scope. Below the service or scope, its user can make
 * any cgroup (Delegate=). */
static struct span down_to_unit(struct span path)
{
    struct span rest = path, part;

    while (span_take_until(&rest, '/', &part)) {
        if (span_ends_with(part, ".service") || span_ends_with(part, ".scope"))
            return (struct span){ path.p, (size_t)(part.p + part.n - path.p) };
    }
    return path;
}

/* What an owner's number is computed from. */
enum kind { CONTAINER_OR_USER, USER_IN_CGROUP, PROCESS };

static struct fingerprint_key key; /* 0: the key of this process alone */

void proc_owner_use_key(const struct fingerprint_key *shared)
{
    key = *shared;
}

/* Returns a number that cannot be predicted. With a predictable one, a user could choose a cgroup
 * with another owner's number. */
static uint64_t number(enum kind kind, struct span text, uint64_t a, uint64_t b)
{
    const struct fingerprint_key use = key.k0 || key.k1 ? key : fingerprint_key_new();
    const uint64_t words[] = { kind, fingerprint(&use, text), a, b };

    uint64_t n = fingerprint(&use, (struct span){ (const char *)words, sizeof(words) });

    return n && n != OWNER_FOREIGN ? n : 1;
}

/* Returns whether the pid of @id still belongs to that process. */
static bool is_there(int proc_fd, const struct proc_id *id)
{
    uint64_t start_ticks;

    return proc_read_start(proc_fd, id->host_pid, &start_ticks) == 0 &&
           (!id->start_ticks || start_ticks == id->start_ticks);
}

/* Gets the user that counts: a user who has many numbers of others (subuid) has them in user
 * namespaces, so all users of those count as one. 0 or -errno. */
static int read_user(int proc_fd, int32_t host_pid, uint32_t uid, uint32_t *ret)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(UID_MAP_MAX_BYTES);
    char name[32];
    int r;

    snprintf(name, sizeof(name), "%d/uid_map", host_pid);
    r = buf_read_at(&text, proc_fd, name);
    if (r < 0 && r != -ENOENT) /* a kernel without user namespaces has no such file */
        return r;
    *ret = r < 0 || id_map_is_identity(buf_span(&text)) ? uid : USERS_OF_NAMESPACE;
    return 0;
}

uint64_t proc_owner(int proc_fd, const struct proc_id *id)
{
    uint64_t owner = proc_owner_now(proc_fd, id);

    /* After a process has ended, its number would be that of the next process with its pid. */
    return proc_fd < 0 || is_there(proc_fd, id) ? owner : OWNER_FOREIGN;
}

uint64_t proc_owner_now(int proc_fd, const struct proc_id *id)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(CGROUP_MAX_BYTES);
    struct proc_status status = { 0 };
    struct parts parts;
    struct span whole;
    char name[32];
    uint32_t uid = 0;
    int r;

    if (proc_fd < 0)
        return number(PROCESS, SPAN_NULL, (uint64_t)id->host_pid, id->start_ticks);
    snprintf(name, sizeof(name), "%d/cgroup", id->host_pid);
    r = buf_read_at(&text, proc_fd, name);
    if (r < 0 && r != -ENOENT) /* a kernel without cgroups has no such file */
        return OWNER_FOREIGN;
    parts = find_all(buf_span(&text));
    whole = parts.container.n ? parts.container : parts.user;
    if ((!whole.n || parts.bare.n) && proc_read_status(proc_fd, id->host_pid, &status) != 0)
        return OWNER_FOREIGN;
    /* A bare name counts in a pid namespace below flamed's, like in container_parse(). */
    if (parts.bare.n && status.ns_depth != 1)
        whole = parts.bare;
    r = whole.n ? 0 : read_user(proc_fd, id->host_pid, status.uid, &uid);
    if (r < 0)
        return OWNER_FOREIGN;
    /* A zombie has lost its cgroup of version 1. */
    if (!whole.n && (status.state == 'Z' || status.state == 'X'))
        return OWNER_FOREIGN;
    if (whole.n)
        return number(CONTAINER_OR_USER, whole, 0, 0);
    if (status.uid != 0)
        return number(USER_IN_CGROUP, down_to_unit(cgroup_path(buf_span(&text))), uid, 0);
    return number(PROCESS, SPAN_NULL, (uint64_t)id->host_pid, id->start_ticks);
}
