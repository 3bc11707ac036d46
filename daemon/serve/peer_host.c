/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a connection from this machine is the host's, or of a container that shares its network.
 * The socket's cgroup tells which processes may have made it; where the kernel or the mount does
 * not tell the cgroup, all processes may. If one of them is in a container, then those count
 * that hold the socket. Where flamed is itself in a pid namespace of its own, no other process can
 * be looked at: who shares its network counts by the number of the user.
 */
#include "serve/peers_impl.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "proc/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define CGROUPS_MAX 65536 /* looked through for one */
#define CGROUP_DEPTH_MAX 24
#define MEMBERS_FEW 16 /* of a cgroup, looked at for each connection: some 50 us each */
#define MEMBERS_MAX_BYTES ((size_t)1 << 20)
#define TEXT_MAX_BYTES ((size_t)16 << 10)

static DIR *open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        close_fd(fd);
    return dir;
}

/* ---- the folder of a cgroup: its inode is its id ---- */

struct search {
    uint64_t wanted;
    size_t left;
};

/* An fd of the folder, or -1. */
static int search_below(int at, const char *name, unsigned depth, struct search *s)
{
    DIR *dir = depth < CGROUP_DEPTH_MAX ? open_dir(at, name) : NULL;
    const struct dirent *entry;
    int found = -1;

    while (dir && found < 0 && s->left > 0 && (entry = readdir(dir))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        s->left--;
        if (entry->d_ino == s->wanted)
            found = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        else
            found = search_below(dirfd(dir), entry->d_name, depth + 1, s);
    }
    if (dir)
        closedir(dir);
    return found;
}

static int open_cgroup(const struct peers *s, uint64_t cgroup)
{
    struct search search = { cgroup, CGROUPS_MAX };
    struct stat st;

    if (s->cgroup_fd < 0 || !cgroup || fstat(s->cgroup_fd, &st) < 0)
        return -1;
    if (st.st_ino == cgroup)
        return openat(s->cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return search_below(s->cgroup_fd, ".", 0, &search);
}

/* ---- one process ---- */

static void read_text(const struct peers *s, int32_t pid, const char *name, struct buf *ret)
{
    char path[48];

    buf_init(ret, TEXT_MAX_BYTES);
    snprintf(path, sizeof(path), "%d/%s", pid, name);
    if (buf_read_at(ret, s->proc_fd, path) < 0)
        buf_clear(ret);
}

/* Whether what looks like a container is none: root with all that the first process may have, in no
 * more than a pid namespace of its own (unshare). */
static bool is_all_of_root(const struct peers *s, const struct proc_status *st)
{
    return s->capabilities && (st->capabilities & s->capabilities) == s->capabilities;
}

/* A greater one outweighs. */
enum place { PLACE_GONE, PLACE_HOST, PLACE_CONTAINER, PLACE_UNTOLD };

/* Where a process is. Neither its user nor its network counts: it may have changed both since it
 * made a socket. */
static enum place place_of(const struct peers *s, int32_t pid)
{
    _cleanup_buf_ struct buf uid_map = BUF_NULL, cgroup = BUF_NULL;
    struct proc_status st;

    if (proc_read_status(s->proc_fd, pid, &st) != 0)
        return PLACE_GONE;
    read_text(s, pid, "uid_map", &uid_map);
    read_text(s, pid, "cgroup", &cgroup);
    if (!cgroup.n)
        return PLACE_GONE;
    if (!id_map_is_identity(buf_span(&uid_map)) || cgroup_is_container(buf_span(&cgroup)))
        return PLACE_CONTAINER;
    return st.ns_depth > 1 && !is_all_of_root(s, &st) ? PLACE_CONTAINER : PLACE_HOST;
}

/* ---- all that may have made it ---- */

/* The processes of the cgroup @fd. False where they cannot be told, or there are none. */
static bool members_are_host(const struct peers *s, int fd, size_t *ret_count)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct span rest, line;
    size_t count = 0;

    buf_init(&text, MEMBERS_MAX_BYTES);
    if (buf_read_at(&text, fd, "cgroup.procs") < 0)
        return false;
    rest = buf_span(&text);
    while (span_take_line(&rest, &line)) {
        uint64_t pid;

        if (!span_parse_dec(line, &pid) || pid == 0 || pid > INT32_MAX ||
            place_of(s, (int32_t)pid) == PLACE_CONTAINER)
            return false; /* 0: one that our pid namespace does not see */
        count++;
    }
    *ret_count = count;
    return count > 0;
}

static bool all_are_host(const struct peers *s)
{
    DIR *dir = open_dir(s->proc_fd, ".");
    const struct dirent *entry;
    bool host = dir != NULL;

    while (host && (entry = readdir(dir))) {
        uint64_t pid;

        if (span_parse_dec(span_of(entry->d_name), &pid) && pid <= INT32_MAX)
            host = place_of(s, (int32_t)pid) != PLACE_CONTAINER;
    }
    if (dir)
        closedir(dir);
    return host;
}

/* ---- those that hold it ---- */

/* Whether there may be one more look. */
static bool may_look(struct peers *s, bool member)
{
    bool may;

    pthread_mutex_lock(&s->lock);
    may = budget_has(&s->looks[member], clock_monotonic_ns());
    if (may)
        budget_spend(&s->looks[member], PEER_LOOK_NS);
    pthread_mutex_unlock(&s->lock);
    return may;
}

/* That of all that hold it: a program of the host may have taken a container's descriptor.
 * PLACE_GONE: none is found. PLACE_UNTOLD: the broker may not look, or has not found the time. */
static enum place place_of_holders(struct peers *s, const struct peer *p)
{
    enum place all = PLACE_GONE;
    int32_t pids[PEER_HOLDERS_MAX];
    int count;

    if (!s->holders)
        return PLACE_GONE;
    count = may_look(s, p->member) ? s->holders(s->holders_cookie, p->inode, pids, ARRAY_SIZE(pids))
                                   : -ETIMEDOUT;
    if (count < 0)
        return count == -ETIMEDOUT ? PLACE_UNTOLD : PLACE_GONE;
    for (int i = 0; i < count; i++)
        all = MAX(all, place_of(s, pids[i]));
    return all;
}

/* ---- verdicts last until the next process starts ---- */

/* The number that the newest process of the machine got, which tells whether there is a new one.
 * 0: not told. */
static uint64_t newest_pid(const struct peers *s)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct span rest, word = { 0 };
    uint64_t pid;

    buf_init(&text, TEXT_MAX_BYTES);
    if (buf_read_at(&text, s->proc_fd, "loadavg") < 0)
        return 0;
    rest = span_trim(buf_span(&text)); /* a line break would be a part of the last word */
    while (span_take_word(&rest, &word))
        ; /* the last one */
    return span_parse_dec(word, &pid) ? pid : 0;
}

/* That of @cgroup, or the oldest one's place, empty. */
static struct peer_verdict *verdict_of(struct peers *s, uint64_t cgroup)
{
    struct peer_verdict *v;

    for (size_t i = 0; i < PEER_VERDICTS_MAX; i++) {
        if (s->verdicts[i].until_ns && s->verdicts[i].cgroup == cgroup)
            return &s->verdicts[i];
    }
    v = &s->verdicts[s->next_verdict++ % PEER_VERDICTS_MAX];
    if (v->until_ns && v->told)
        close_fd(v->fd);
    *v = (struct peer_verdict){ .cgroup = cgroup };
    return v;
}

/* Looks at all who may have made a socket of that cgroup. The first time costs the search for @v's
 * folder. */
static void look(struct peers *s, struct peer_verdict *v, uint64_t now)
{
    size_t count = SIZE_MAX;

    if (!v->until_ns) {
        v->fd = open_cgroup(s, v->cgroup);
        v->told = v->fd >= 0;
    }
    v->newest_pid = newest_pid(s); /* before the look: what starts during it is new */
    v->host = v->told ? members_are_host(s, v->fd, &count) : all_are_host(s);
    v->few = count <= MEMBERS_FEW;
    v->until_ns = now + PEER_HOST_NS;
}

/* Whether it holds still that none is in a container. One that started since may be. */
static bool holds(const struct peers *s, const struct peer_verdict *v)
{
    return v->host && v->newest_pid && v->newest_pid == newest_pid(s);
}

/* @anew: whatever was seen before. */
static bool none_is_foreign(struct peers *s, const struct peer *p, bool anew)
{
    uint64_t now = clock_monotonic_ns();
    struct peer_verdict *v;
    bool host;

    pthread_mutex_lock(&s->lock);
    v = verdict_of(s, p->cgroup);
    host = !anew && now < v->until_ns && holds(s, v);
    /* Few members are looked at again as often as it takes, many once in a while. */
    if (!host && (anew || now >= v->until_ns || (v->host && v->few))) {
        look(s, v, now);
        host = v->host;
    }
    pthread_mutex_unlock(&s->lock);
    return host;
}

enum peer_place peer_place(struct peers *s, const struct peer *p)
{
    enum place place;

    if (!p->known || !p->tcp || s->enclosed)
        return p->known ? PEER_HOST : PEER_FOREIGN;
    if (none_is_foreign(s, p, /* anew= */ false))
        return PEER_HOST;
    place = place_of_holders(s, p);
    if (place == PLACE_UNTOLD)
        return PEER_UNTOLD;
    if (place == PLACE_GONE && may_look(s, p->member) && none_is_foreign(s, p, /* anew= */ true))
        return PEER_HOST;
    return place == PLACE_HOST ? PEER_HOST : PEER_FOREIGN;
}
