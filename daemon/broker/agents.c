/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/agents.h"

#include "base/cleanup.h"
#include "broker/blobs.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT_NAME "flamed-agent"
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 8u
#define MFD_EXEC 16u
#endif

struct agents {
    struct {
        int32_t host_pid;
        uint64_t start_ticks;
        int fd;
    } entry[AGENTS_MAX];
    size_t count, next;
};

int agents_memfd(const char *name, const void *p, size_t n, bool exec, int *ret_fd)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    _cleanup_close_ int fd = memfd_create(name, flags | (exec ? MFD_EXEC : MFD_NOEXEC_SEAL));
    size_t done = 0;

    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create(name, flags);
    if (fd < 0)
        return -errno;
    while (done < n) {
        ssize_t r = write(fd, (const char *)p + done, n - done);

        if (r < 0)
            return -errno;
        done += (size_t)r;
    }
    if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return -errno;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* Whether @fd is our agent, byte for byte, and nobody can change it. */
static bool is_agent(int fd)
{
    struct span agent = blob_of_agent();
    char part[4096];
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || st.st_size != (off_t)agent.n)
        return false;
    for (size_t at = 0; at < agent.n;) {
        ssize_t n = pread(fd, part, sizeof(part), (off_t)at);

        if (n <= 0 || (size_t)n > agent.n - at || memcmp(part, agent.p + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

struct search {
    const struct target *target;
    int fd;
};

static bool is_mapped_agent(const struct mapping *m, void *cookie)
{
    struct search *s = cookie;
    _cleanup_close_ int fd = -1;
    char name[64];

    if (!m->deleted || !span_eq_str(m->path, "/memfd:" AGENT_NAME))
        return false;
    snprintf(name, sizeof(name), "map_files/%jx-%jx", (uintmax_t)m->start, (uintmax_t)m->end);
    fd = openat(s->target->dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || !is_agent(fd))
        return false;
    s->fd = take_fd(&fd);
    return true;
}

int agents_get(struct agents **agents, const struct target *t, uint64_t start_ticks, int *ret_fd,
               struct error *err)
{
    struct search s = { .target = t, .fd = -1 };
    struct agents *a = *agents;
    _cleanup_close_ int maps = -1;
    struct span agent = blob_of_agent();
    int r;

    if (!a) {
        a = *agents = calloc(1, sizeof(*a));
        if (!a)
            return -ENOMEM;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->entry[i].host_pid == t->host_pid && a->entry[i].start_ticks == start_ticks) {
            *ret_fd = a->entry[i].fd;
            return 0;
        }
    }
    r = target_open_proc(t, "maps", &maps, err);
    if (r)
        return r;
    if (!maps_walk(maps, is_mapped_agent, &s)) {
        r = agents_memfd(AGENT_NAME, agent.p, agent.n, /* exec= */ false, &s.fd);
        if (r < 0)
            return error_code(err, r, "cannot make a memory file for the agent");
    }
    if (a->count < AGENTS_MAX)
        a->next = a->count++;
    else /* the oldest goes; the JVM keeps it mapped, where it is found again */
        a->next = (a->next + 1) % AGENTS_MAX;
    if (a->entry[a->next].fd > 0)
        close_fd(a->entry[a->next].fd);
    a->entry[a->next].host_pid = t->host_pid;
    a->entry[a->next].start_ticks = start_ticks;
    a->entry[a->next].fd = s.fd;
    *ret_fd = s.fd;
    return 0;
}

struct agents *agents_free(struct agents *agents)
{
    for (size_t i = 0; agents && i < agents->count; i++)
        close_fd(agents->entry[i].fd);
    free(agents);
    return NULL;
}
