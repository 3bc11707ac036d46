/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a process is. What a user may name (a cgroup below its own manager's, a process) must not
 * make many owners of one user, nor one owner of that user and a container of somebody else.
 */
#include "base/cleanup.h"
#include "base/fnv1a.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <unistd.h>

/* Hexadecimal digits, as all runtimes have them in a cgroup's name. */
#define CONTAINER_ID_BYTES 64
#define CGROUP_MAX_BYTES 8192

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* The first run of 64 hexadecimal digits; empty: there is none. */
static struct span container_id(struct span text)
{
    size_t run = 0;

    for (size_t i = 0; i < text.n; i++) {
        run = is_hex(text.p[i]) ? run + 1 : 0;
        if (run == CONTAINER_ID_BYTES)
            return (struct span){ text.p + i + 1 - run, run };
    }
    return (struct span){ text.p, 0 };
}

struct span cgroup_user(struct span path)
{
    struct span rest = path, part;

    while (span_take_until(&rest, '/', &part)) {
        if ((span_starts_with(part, "user-") && span_ends_with(part, ".slice")) ||
            (span_starts_with(part, "user@") && span_ends_with(part, ".service")))
            return (struct span){ path.p, (size_t)(part.p + part.n - path.p) };
    }
    return (struct span){ path.p, 0 };
}

/* The cgroup that stands for all of a container, or of a user; empty: neither. Of a container it
 * is the whole path: who is in one that has no such id may make one of any below it. */
static struct span whole(struct span cgroup)
{
    struct span user = { cgroup.p, 0 };
    struct cgroup_line line;

    while (cgroup_take_line(&cgroup, &line)) {
        struct span of_user = cgroup_user(line.path), container = container_id(line.path);

        if (of_user.n)
            user = of_user;
        else if (container.n)
            return (struct span){ line.path.p, (size_t)(container.p + container.n - line.path.p) };
    }
    return user;
}

uint64_t proc_owner(int proc_fd, const struct proc_id *id)
{
    char name[32], text[CGROUP_MAX_BYTES];
    _cleanup_close_ int fd = -1;
    uint64_t hash = FNV1A_START;
    struct span cgroup, key;
    struct proc_status status;
    ssize_t n;

    snprintf(name, sizeof(name), "%d/cgroup", id->host_pid);
    fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, sizeof(text));
    cgroup = (struct span){ text, n > 0 ? (size_t)n : 0 };
    key = whole(cgroup);
    if (key.n) {
        hash = fnv1a(hash, key.p, key.n);
    } else if (proc_read_status(proc_fd, id->host_pid, &status) == 0 && status.uid != 0) {
        key = cgroup_path(cgroup);
        hash = fnv1a(fnv1a(hash, &status.uid, sizeof(status.uid)), key.p, key.n);
    } else {
        hash = fnv1a(hash, &id->host_pid, sizeof(id->host_pid));
        hash = fnv1a(hash, &id->start_ticks, sizeof(id->start_ticks));
    }
    return hash ? hash : 1;
}
