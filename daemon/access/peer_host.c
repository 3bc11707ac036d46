/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a connection from this machine is the host's, or of a container that shares its network.
 * The socket's cgroup tells which processes may have made it; where the kernel or the mount does
 * not tell the cgroup, all processes may. If one of them is in a container, then those count
 * that hold the socket. Where flamed is itself in a pid namespace of its own, no other process can
 * be looked at: who shares its network counts by the number of the user.
 */
#include "access/peers_impl.h"

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
#define MEMBERS_FEW_BYTES (MEMBERS_FEW * sizeof("4194304"))
#define MEMBERS_MAX_BYTES ((size_t)1 << 20)
#define MAKERS_NS (100 * NSEC_PER_MSEC) /* that looks at who may have made some sockets take */
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
    uint64_t wanted, end_ns;
    size_t left;
    bool late; /* it was given up at end_ns */
};

static bool is_late(uint64_t end_ns)
{
    return clock_monotonic_ns() > end_ns;
}

/* An fd of the folder, or -1. */
static int search_below(int at, const char *name, unsigned depth, struct search *s)
{
    DIR *dir = depth < CGROUP_DEPTH_MAX ? open_dir(at, name) : NULL;
    const struct dirent *entry;
    int found = -1;

    while (dir && found < 0 && s->left > 0 && !s->late && (entry = readdir(dir))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        s->left--;
        s->late = is_late(s->end_ns);
        if (s->late)
            break;
        if (entry->d_ino == s->wanted)
            found = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        else
            found = search_below(dirfd(dir), entry->d_name, depth + 1, s);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* *ret_late: the search was given up at @end_ns. */
static int open_cgroup(const struct peers *s, uint64_t cgroup, uint64_t end_ns, bool *ret_late)
{
    struct search search = { .wanted = cgroup, .end_ns = end_ns, .left = CGROUPS_MAX };
    struct stat st;
    int fd;

    if (s->cgroup_fd < 0 || !cgroup || fstat(s->cgroup_fd, &st) < 0)
        return -1;
    if (st.st_ino == cgroup)
        return openat(s->cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = search_below(s->cgroup_fd, ".", 0, &search);
    *ret_late = fd < 0 && search.late;
    return fd;
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

/* What a look at them tells. */
enum makers {
    MAKERS_HOST,
    MAKERS_FOREIGN, /* one may be a container's */
    MAKERS_LATE,    /* there was no time for all of them */
};

/* The processes of the cgroup @fd. There must be one, and their list must have no more than
 * @max_bytes. */
static enum makers look_at_members(const struct peers *s, int fd, size_t max_bytes, uint64_t end_ns,
                                   size_t *ret_count)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct span rest, line;
    size_t count = 0;

    buf_init(&text, max_bytes);
    if (buf_read_at(&text, fd, "cgroup.procs") < 0)
        return MAKERS_FOREIGN;
    rest = buf_span(&text);
    while (span_take_line(&rest, &line)) {
        uint64_t pid;

        if (is_late(end_ns))
            return MAKERS_LATE;
        if (!span_parse_dec(line, &pid) || pid == 0 || pid > INT32_MAX ||
            place_of(s, (int32_t)pid) == PLACE_CONTAINER)
            return MAKERS_FOREIGN; /* 0: one that our pid namespace does not see */
        count++;
    }
    *ret_count = count;
    return count > 0 ? MAKERS_HOST : MAKERS_FOREIGN;
}

static enum makers look_at_all(const struct peers *s, uint64_t end_ns)
{
    DIR *dir = open_dir(s->proc_fd, ".");
    enum makers all = dir ? MAKERS_HOST : MAKERS_FOREIGN;
    const struct dirent *entry;

    while (all == MAKERS_HOST && (entry = readdir(dir))) {
        uint64_t pid;

        if (!span_parse_dec(span_of(entry->d_name), &pid) || pid > INT32_MAX)
            continue;
        if (is_late(end_ns))
            all = MAKERS_LATE;
        else if (place_of(s, (int32_t)pid) == PLACE_CONTAINER)
            all = MAKERS_FOREIGN;
    }
    if (dir)
        closedir(dir);
    return all;
}

/* ---- those that hold it ---- */

/* That of all that hold it: a program of the host may have taken a container's descriptor.
 * PLACE_GONE: none is found. */
static enum place place_of_holders(const struct peers *s, const struct socket_holding *h)
{
    enum place all = PLACE_GONE;

    for (size_t i = 0; h->count <= SOCKET_HOLDERS_MAX && i < h->count; i++)
        all = MAX(all, place_of(s, h->pids[i]));
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

/* That of @cgroup, or NULL. Called with lock held. */
static struct peer_verdict *find_verdict(struct peers *s, uint64_t cgroup)
{
    for (size_t i = 0; i < PEER_VERDICTS_MAX; i++) {
        if (s->verdicts[i].until_ns && s->verdicts[i].cgroup == cgroup)
            return &s->verdicts[i];
    }
    return NULL;
}

/* That of @cgroup, or the oldest one's place, empty. Called with lock held, by the thread of
 * peers_look() alone: so a verdict stays in its place while that thread looks. */
static struct peer_verdict *verdict_of(struct peers *s, uint64_t cgroup)
{
    struct peer_verdict *v = find_verdict(s, cgroup);

    if (v)
        return v;
    v = &s->verdicts[s->next_verdict++ % PEER_VERDICTS_MAX];
    if (v->until_ns && v->told)
        close_fd(v->fd);
    *v = (struct peer_verdict){ .cgroup = cgroup, .late = true };
    return v;
}

/* Whether it holds still that none is in a container. One that started since may be. */
static bool holds(const struct peers *s, const struct peer_verdict *v)
{
    return v->host && v->newest_pid && v->newest_pid == newest_pid(s);
}

/* Notes what a look told that began at @now. */
static void set_verdict(struct peer_verdict *v, enum makers makers, uint64_t newest, uint64_t now)
{
    v->host = makers == MAKERS_HOST;
    v->late = makers == MAKERS_LATE;
    v->newest_pid = newest; /* before the look: what starts during it is new */
    v->looked_ns = now;
    v->until_ns = now + PEER_HOST_NS;
}

/* Looks at all who may have made a socket of @v's cgroup, until @end_ns. The first time costs the
 * search for its folder. Without the lock: others see the verdict before until this one is there.
 */
static void look(struct peers *s, struct peer_verdict *v, uint64_t end_ns)
{
    struct peer_verdict seen;
    uint64_t now = clock_monotonic_ns(), newest = newest_pid(s);
    enum makers makers = MAKERS_LATE;
    size_t count = SIZE_MAX;
    bool late = false;

    pthread_mutex_lock(&s->lock);
    seen = *v;
    pthread_mutex_unlock(&s->lock);
    if (!seen.told && seen.late) {
        seen.fd = open_cgroup(s, seen.cgroup, end_ns, &late);
        seen.told = seen.fd >= 0;
    }
    if (!late)
        makers = seen.told ? look_at_members(s, seen.fd, MEMBERS_MAX_BYTES, end_ns, &count)
                           : look_at_all(s, end_ns);
    set_verdict(&seen, makers, newest, now);
    seen.few = count <= MEMBERS_FEW;
    pthread_mutex_lock(&s->lock);
    *v = seen;
    pthread_mutex_unlock(&s->lock);
}

/* Looks at the few members of @v's cgroup. False also where they are no longer few, which is left
 * to look(). Called with lock held. */
static bool look_quickly(const struct peers *s, struct peer_verdict *v, uint64_t now)
{
    uint64_t newest = newest_pid(s);
    size_t count;

    if (look_at_members(s, v->fd, MEMBERS_FEW_BYTES, UINT64_MAX, &count) != MAKERS_HOST)
        return false;
    set_verdict(v, MAKERS_HOST, newest, now);
    return true;
}

/* Whether all that may have made the socket are the host's, as is known or told in a moment. */
static bool are_known_as_host(struct peers *s, uint64_t cgroup)
{
    uint64_t now = clock_monotonic_ns();
    struct peer_verdict *v;
    bool host;

    pthread_mutex_lock(&s->lock);
    v = find_verdict(s, cgroup);
    host = v && now < v->until_ns && holds(s, v);
    if (v && !host && v->told && v->few && (v->host || now >= v->until_ns))
        host = look_quickly(s, v, now);
    pthread_mutex_unlock(&s->lock);
    return host;
}

enum peer_place peer_place(struct peers *s, const struct peer *p)
{
    if (!p->known || !p->tcp || s->enclosed)
        return p->known ? PEER_HOST : PEER_FOREIGN;
    return are_known_as_host(s, p->cgroup) ? PEER_HOST : PEER_UNTOLD;
}

/* ---- the thread that may wait ---- */

/* @since_ns: what was seen before does not count. 0: it counts as long as it holds. */
static enum makers ask_makers(struct peers *s, uint64_t cgroup, uint64_t since_ns, uint64_t end_ns)
{
    uint64_t now = clock_monotonic_ns();
    struct peer_verdict *v;
    enum makers makers;
    bool host, again;

    pthread_mutex_lock(&s->lock);
    v = verdict_of(s, cgroup);
    host = since_ns ? v->host && v->looked_ns >= since_ns : now < v->until_ns && holds(s, v);
    /* Few members are looked at again as often as it takes, many once in a while. */
    again =
        since_ns ? v->looked_ns < since_ns : !host && (now >= v->until_ns || (v->host && v->few));
    pthread_mutex_unlock(&s->lock);
    if (again)
        look(s, v, end_ns);
    pthread_mutex_lock(&s->lock);
    if (again)
        host = v->host;
    makers = host ? MAKERS_HOST : v->late ? MAKERS_LATE : MAKERS_FOREIGN;
    pthread_mutex_unlock(&s->lock);
    return makers;
}

/* Until when the next of @left looks may take, where all may take until @end_ns. */
static uint64_t share_of(uint64_t end_ns, size_t left)
{
    uint64_t now = clock_monotonic_ns();

    return now + (end_ns > now ? (end_ns - now) / left : 0);
}

/* Where the end is whose holders are @h. */
static enum peer_place place_of_held(struct peers *s, const struct peer *p,
                                     const struct socket_holding *h, uint64_t begun_ns,
                                     uint64_t end_ns)
{
    enum place place = h->told ? place_of_holders(s, h) : PLACE_UNTOLD;
    enum makers makers;

    if (place != PLACE_GONE)
        return place == PLACE_HOST ? PEER_HOST : place == PLACE_UNTOLD ? PEER_UNTOLD : PEER_FOREIGN;
    makers = ask_makers(s, p->cgroup, begun_ns, end_ns);
    return makers == MAKERS_HOST ? PEER_HOST : makers == MAKERS_LATE ? PEER_UNTOLD : PEER_FOREIGN;
}

bool peers_look(struct peers *s, const struct peer *p, size_t n, enum peer_place *ret)
{
    struct socket_holding held[SOCKETS_ASKED_MAX] = { 0 };
    size_t index[SOCKETS_ASKED_MAX], left = 0;
    uint64_t inodes[SOCKETS_ASKED_MAX], begun_ns = clock_monotonic_ns(), end_ns;
    int r = 0;

    end_ns = begun_ns + MAKERS_NS;
    for (size_t i = 0; i < n; i++) {
        ret[i] = PEER_HOST;
        if (ask_makers(s, p[i].cgroup, 0, share_of(end_ns, n - i)) == MAKERS_HOST)
            continue;
        inodes[left] = p[i].inode;
        index[left++] = i;
    }
    if (left && s->holders)
        r = s->holders(s->holders_cookie, inodes, left, held);
    end_ns = clock_monotonic_ns() + MAKERS_NS;
    for (size_t i = 0; i < left; i++) {
        if (!s->holders) /* there is no way to ask: none is found */
            held[i] = (struct socket_holding){ .told = true };
        else if (r != 0)
            held[i].told = false;
        ret[index[i]] =
            place_of_held(s, &p[index[i]], &held[i], begun_ns, share_of(end_ns, left - i));
    }
    return r != -EBUSY;
}
