/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <unistd.h>

/* Hexadecimal digits, as all runtimes have them in a cgroup's name. */
#define CONTAINER_ID_BYTES 64
#define CGROUP_MAX_BYTES 8192

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *p, size_t n)
{
    const unsigned char *bytes = p;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

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

uint64_t proc_owner(int proc_fd, const struct proc_id *id)
{
    char name[32], text[CGROUP_MAX_BYTES];
    _cleanup_close_ int fd = -1;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    struct span container;
    ssize_t n;

    snprintf(name, sizeof(name), "%d/cgroup", id->host_pid);
    fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, text, sizeof(text));
    container = container_id((struct span){ text, n > 0 ? (size_t)n : 0 });
    if (container.n) {
        hash = mix(hash, container.p, container.n);
    } else {
        hash = mix(hash, &id->host_pid, sizeof(id->host_pid));
        hash = mix(hash, &id->start_ticks, sizeof(id->start_ticks));
    }
    return hash ? hash : 1;
}
