/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/agent_files.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "privileged/embedded.h"
#include "privileged/memfd.h"
#include "proc/exit_status.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define AGENT_NAME "flamed-agent"
#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

/* How long an entry is kept after its JVM has ended, if no request asks for it. */
#define AGENTS_ENDED_NS (60 * NSEC_PER_SEC)

struct agents {
    struct agent {
        int32_t host_pid;
        uint64_t start_ticks;
        int fd, pidfd;
        uint64_t ended_ns; /* when the end was seen, CLOCK_MONOTONIC; 0: not yet */
    } entry[AGENTS_MAX];   /* the oldest first */
    size_t count;
};

static void agents_drop(struct agents *a, size_t i)
{
    close_fd(a->entry[i].fd);
    close_fd(a->entry[i].pidfd);
    a->count--;
    memmove(&a->entry[i], &a->entry[i + 1], (a->count - i) * sizeof(a->entry[0]));
}

/* Drops entries of JVMs that ended AGENTS_ENDED_NS ago, and the oldest one if the table is still
 * full. A live JVM still has the agent mapped, where it can be found again. */
static void agents_make_room(struct agents *a)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (size_t i = a->count; i > 0; i--) {
        struct agent *one = &a->entry[i - 1];

        if (!exit_has_come(one->pidfd))
            continue;
        if (!one->ended_ns)
            one->ended_ns = now_ns;
        else if (now_ns - one->ended_ns >= AGENTS_ENDED_NS)
            agents_drop(a, i - 1);
    }
    if (a->count == AGENTS_MAX)
        agents_drop(a, 0);
}

/* Returns true if @fd is our agent, byte for byte, and is sealed against changes. */
static bool is_agent(int fd)
{
    struct span agent = embedded_agent;
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
    dev_t device; /* of memory files */
    int fd;
};

static bool is_mapped_agent(const struct mapping *m, void *cookie)
{
    struct search *s = cookie;
    _cleanup_close_ int path = -1, fd = -1;
    char name[64];
    struct statx st;

    if (!m->deleted || !span_eq_str(m->path, "/memfd:" AGENT_NAME))
        return false;
    snprintf(name, sizeof(name), "map_files/%jx-%jx", (uintmax_t)m->start, (uintmax_t)m->end);
    /* The name is no proof. Checks type and device first, to open neither a device nor a file of a
     * file system that may not answer. All memory files are on one device. */
    path = openat(s->target->dir_fd, name, O_PATH | O_CLOEXEC);
    if (path < 0 || statx(path, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 ||
        !S_ISREG(st.stx_mode) || makedev(st.stx_dev_major, st.stx_dev_minor) != s->device)
        return false;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
    fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || !is_agent(fd))
        return false;
    s->fd = take_fd(&fd);
    return true;
}

int agents_find(const struct target *t, int *ret_fd, struct error *err)
{
    struct search s = { .target = t, .fd = -1 };
    _cleanup_close_ int maps = -1, fresh = -1;
    struct stat st;
    int r = target_open_proc(t, "maps", &maps, err);

    if (r)
        return r;
    r = memfd_sealed(AGENT_NAME, MEMFD_DATA, "", 0, &fresh);
    if (r < 0 || fstat(fresh, &st) < 0)
        return error_code(err, r < 0 ? r : -errno, "cannot make a memory file");
    s.device = st.st_dev;
    maps_scan(maps, is_mapped_agent, &s);
    *ret_fd = s.fd;
    return 0;
}

int agents_get(struct server *s, const struct target *t, const struct target_fields *of,
               agents_find_fn find, int *ret_fd, struct error *err)
{
    struct span agent = embedded_agent;
    struct agents *a = s->agents;
    int fd = -1, r;

    if (!a) {
        a = s->agents = calloc(1, sizeof(*a));
        if (!a)
            return -ENOMEM;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->entry[i].host_pid == t->host_pid && a->entry[i].start_ticks == of->start_ticks) {
            *ret_fd = a->entry[i].fd;
            return 0;
        }
    }
    r = find(s, of, &fd, err);
    if (r)
        return r;
    r = fd < 0 ? memfd_sealed(AGENT_NAME, MEMFD_DATA, agent.p, agent.n, &fd) : 0;
    if (r < 0)
        return error_code(err, r, "cannot make a memory file for the agent");
    agents_make_room(a);
    a->entry[a->count++] = (struct agent){ .host_pid = t->host_pid,
                                           .start_ticks = of->start_ticks,
                                           .fd = fd,
                                           .pidfd = fcntl(t->pidfd, F_DUPFD_CLOEXEC, 0) };
    *ret_fd = fd;
    return 0;
}

static int exit_status(int proc_fd, const struct agent *one, int *ret_status)
{
    struct proc_id id = { .host_pid = one->host_pid, .start_ticks = one->start_ticks };

    *ret_status = 0;
    if (one->pidfd < 0)
        return BROKER_ABSENT;
    if (!exit_has_come(one->pidfd))
        return -EAGAIN;
    if (exit_status_of(one->pidfd, ret_status) || exit_status_of_zombie(proc_fd, &id, ret_status) ||
        exit_status_of(one->pidfd, ret_status)) /* the parent has reaped the process in between */
        return 0;
    return BROKER_ABSENT;
}

int agents_ended(struct agents *agents, int proc_fd, int32_t host_pid, uint64_t start_ticks,
                 int *ret_status)
{
    for (size_t i = 0; agents && i < agents->count; i++) {
        int pidfd = agents->entry[i].pidfd, r;

        if (agents->entry[i].host_pid != host_pid || agents->entry[i].start_ticks != start_ticks)
            continue;
        r = exit_status(proc_fd, &agents->entry[i], ret_status);
        if (pidfd >= 0 && r != -EAGAIN)
            agents_drop(agents, i);
        return r;
    }
    return BROKER_ABSENT;
}

/* Returns bytes [offset, offset + n) of @blob; NULL: it has fewer. They are aligned as in the
 * file. */
static const void *blob_at(struct span blob, uint64_t offset, uint64_t n)
{
    return offset <= blob.n && n <= blob.n - offset ? blob.p + offset : NULL;
}

/* Returns the file offset of @address in the agent's code; 0: none. */
static uint64_t file_offset(struct span blob, const Elf64_Ehdr *head, uint64_t address)
{
    for (size_t i = 0; i < head->e_phnum; i++) {
        const Elf64_Phdr *p = blob_at(blob, head->e_phoff + i * sizeof(*p), sizeof(*p));

        if (p && p->p_type == PT_LOAD && p->p_flags & PF_X && address >= p->p_vaddr &&
            address - p->p_vaddr < p->p_filesz)
            return p->p_offset + (address - p->p_vaddr);
    }
    return 0;
}

uint64_t agents_probe_offset(void)
{
    static const char NAME[] = "flamed_agent_sampled";
    struct span blob = embedded_agent;
    const Elf64_Ehdr *head = blob_at(blob, 0, sizeof(*head));

    for (size_t i = 0; head && i < head->e_shnum; i++) {
        const Elf64_Shdr *s = blob_at(blob, head->e_shoff + i * sizeof(*s), sizeof(*s)), *names;

        if (!s || s->sh_type != SHT_DYNSYM)
            continue;
        names = blob_at(blob, head->e_shoff + s->sh_link * sizeof(*s), sizeof(*s));
        for (uint64_t at = 0; names && at + sizeof(Elf64_Sym) <= s->sh_size;
             at += sizeof(Elf64_Sym)) {
            const Elf64_Sym *symbol = blob_at(blob, s->sh_offset + at, sizeof(*symbol));
            const char *name =
                symbol ? blob_at(blob, names->sh_offset + symbol->st_name, sizeof(NAME)) : NULL;

            if (name && memcmp(name, NAME, sizeof(NAME)) == 0)
                return file_offset(blob, head, symbol->st_value);
        }
    }
    return 0;
}

struct agents *agents_free(struct agents *agents)
{
    for (size_t i = 0; agents && i < agents->count; i++) {
        close_fd(agents->entry[i].fd);
        close_fd(agents->entry[i].pidfd);
    }
    free(agents);
    return NULL;
}
