/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the facts of one process that holds a socket, and wraps the kernel calls for that. A text
 * is READING_PART if it is cut or lacks a line that the kernel always writes. Then peer_decide.c
 * takes the client for foreign.
 */
#include "access/peers_impl.h"

#include "proc/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_MAX_BYTES ((size_t)16 << 10)
#define LOADAVG_MAX_BYTES ((size_t)256)
#define MAY_TRACE (UINT64_C(1) << CAP_SYS_PTRACE)
#define CGROUP_ROOT_INODE 1 /* inode of the root of cgroup v2 */

/* ---- the kernel ---- */

static void kernel_socket(void *ctx, struct peer_text *t, const struct peer_connection *c,
                          struct peer_socket *ret)
{
    peer_ask_socket(ctx, t, c->fd, &c->address, ret);
}

static bool kernel_connected(void *ctx, const struct peer_connection *c)
{
    (void)ctx;
    return peer_is_connected(c->fd);
}

static int kernel_pin(void *ctx, int32_t pid)
{
    const struct peers *s = ctx;
    char name[16];
    int fd;

    snprintf(name, sizeof(name), "%d", pid);
    fd = openat(s->proc_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void kernel_unpin(void *ctx, int fd)
{
    (void)ctx;
    close(fd);
}

static int kernel_read(void *ctx, int fd, const char *name, struct buf *ret)
{
    (void)ctx;
    return buf_read_at(ret, fd, name);
}

/* Checks whether the process has ended: its folder then has no files. */
static int kernel_stays(void *ctx, int fd)
{
    struct stat st;

    (void)ctx;
    return fstatat(fd, "status", &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int kernel_read_all(void *ctx, const char *name, struct buf *ret)
{
    const struct peers *s = ctx;

    return buf_read_at(ret, s->proc_fd, name);
}

/* Gets the id of a cgroup, which is the inode of its folder. */
static uint64_t kernel_cgroup(void *ctx, struct span path)
{
    const struct peers *s = ctx;
    char text[PATH_MAX];
    struct stat st;

    if (s->cgroup_fd < 0 || fstat(s->cgroup_fd, &st) < 0 || st.st_ino != CGROUP_ROOT_INODE ||
        (path.n >= 3 && memcmp(path.p, "/..", 3) == 0)) /* outside of our cgroup namespace */
        return 0;
    if (path.n + 2 > sizeof(text))
        return PEER_CGROUP_NONE;
    snprintf(text, sizeof(text), ".%.*s", (int)path.n, path.p);
    return fstatat(s->cgroup_fd, text, &st, AT_SYMLINK_NOFOLLOW) < 0 ? PEER_CGROUP_NONE : st.st_ino;
}

void peer_use_kernel(struct peers *s)
{
    s->kernel = (struct peer_kernel){ .ctx = s,
                                      .socket = kernel_socket,
                                      .connected = kernel_connected,
                                      .pin = kernel_pin,
                                      .unpin = kernel_unpin,
                                      .read = kernel_read,
                                      .stays = kernel_stays,
                                      .read_all = kernel_read_all,
                                      .cgroup = kernel_cgroup };
}

uint64_t peer_newest_pid(const struct peers *s)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(LOADAVG_MAX_BYTES);
    struct span rest, word = { 0 };
    uint64_t pid;

    if (s->kernel.read_all(s->kernel.ctx, "loadavg", &text) != 0 || !text.n ||
        text.p[text.n - 1] != '\n')
        return 0;
    rest =
        span_trim(buf_span(&text)); /* a trailing line break would become part of the last word */
    for (int words = 0; span_take_word(&rest, &word); words++) {
        if (words == 4)
            return span_parse_dec(word, &pid) ? pid : 0;
    }
    return 0;
}

/* ---- hierarchies that the cgroup text of each process must have ---- */

/* Lists the hierarchies of @text in order. Returns false if the text is cut or has too many. */
static bool list_hierarchies(struct span text, struct peer_hierarchies *ret)
{
    struct cgroup_line line;
    size_t lines = 0;

    *ret = (struct peer_hierarchies){ 0 };
    if (!text.n || text.p[text.n - 1] != '\n')
        return false;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    while (ret->count < PEER_HIERARCHIES_MAX && cgroup_take_line(&text, &line))
        ret->ids[ret->count++] = line.hierarchy;
    return ret->count && ret->count == lines; /* every line is well formed */
}

void peer_read_hierarchies(const struct peers *s, struct peer_hierarchies *ret)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(CGROUP_MAX_BYTES);

    if (s->kernel.read_all(s->kernel.ctx, "self/cgroup", &text) != 0 ||
        !list_hierarchies(buf_span(&text), ret))
        *ret = (struct peer_hierarchies){ 0 };
}

/* Returns true if @text has each hierarchy of @all. A process is in every hierarchy, so a shorter
 * text was cut. */
static bool has_all_hierarchies(struct span text, const struct peer_hierarchies *all)
{
    struct peer_hierarchies its;

    return list_hierarchies(text, &its) && all->count && its.count == all->count &&
           memcmp(its.ids, all->ids, its.count * sizeof(its.ids[0])) == 0;
}

static uint64_t cgroup_of(const struct peers *s, struct span text)
{
    struct cgroup_line line;

    while (cgroup_take_line(&text, &line)) {
        if (line.hierarchy == 0)
            return s->kernel.cgroup(s->kernel.ctx, line.path);
    }
    return 0;
}

/* ---- one process ---- */

static enum peer_reading read_text(const struct peers *s, int fd, const char *name, size_t max,
                                   struct buf *ret)
{
    int r;

    buf_init(ret, max);
    r = s->kernel.read(s->kernel.ctx, fd, name, ret);
    return r == 0 ? READING_WHOLE : r == -ENOENT || r == -ESRCH ? READING_GONE : READING_PART;
}

static enum peer_reading read_status(const struct peers *s, int fd, struct peer_process *ret)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    enum peer_reading reading = read_text(s, fd, "status", PROC_STATUS_MAX_BYTES, &text);
    struct proc_status st;

    if (reading != READING_WHOLE)
        return reading;
    if (proc_status_parse(buf_span(&text), &st) != 0 || !st.whole)
        return READING_PART;
    ret->uids[0] = st.real_uid;
    ret->uids[1] = st.uid;
    ret->uids[2] = st.saved_uid;
    ret->uids[3] = st.file_uid;
    ret->may_trace =
        st.capability_bounds & MAY_TRACE || (s->capabilities && !(s->capabilities & MAY_TRACE));
    ret->all_of_root =
        s->capabilities && (st.capabilities & s->capabilities) == s->capabilities && st.uid == 0;
    return READING_WHOLE;
}

static enum peer_reading read_cgroup(const struct peers *s, int fd,
                                     const struct peer_hierarchies *all, struct peer_process *ret)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    enum peer_reading reading = read_text(s, fd, "cgroup", CGROUP_MAX_BYTES, &text);

    if (reading != READING_WHOLE)
        return reading;
    if (!has_all_hierarchies(buf_span(&text), all))
        return READING_PART;
    ret->named_container = cgroup_is_container(buf_span(&text));
    ret->cgroup = cgroup_of(s, buf_span(&text));
    return READING_WHOLE;
}

void peer_read_process(const struct peers *s, int fd, const struct peer_hierarchies *all,
                       struct peer_process *ret)
{
    ret->reading = read_status(s, fd, ret);
    if (ret->reading == READING_WHOLE)
        ret->reading = read_cgroup(s, fd, all, ret);
}
