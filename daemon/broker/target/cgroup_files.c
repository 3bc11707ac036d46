/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/cgroup_files.h"

#include "base/cleanup.h"

#include <fcntl.h>

#define FOLDER_FILE_BYTES (4096 + 64)
/* Version 1 writes the largest multiple of a page size for "no limit". */
#define NO_MEMORY_LIMIT (UINT64_C(1) << 60)

/* Opens the file @name of the cgroup @folder for reading. Return: -1 if there is none. */
static int open_file(int mount_fd, const char *folder, const char *name)
{
    char path[FOLDER_FILE_BYTES];

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return -1;
    return openat(mount_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static void open_first(int *fd, int mount_fd, const char *folder, const char *name)
{
    if (*fd < 0)
        *fd = open_file(mount_fd, folder, name);
}

/* Keeps the cgroup with the lowest limit, which is the one that throttles. */
static bool see_cpu(void *cookie, int mount_fd, const char *folder)
{
    struct broker_cgroup_files *f = cookie;
    uint64_t limit = cgroup_cpu_limit_at(mount_fd, folder);

    if (!limit || (f->cpu_limit && limit >= f->cpu_limit))
        return false;
    f->cpu_limit = limit;
    close_fd(f->fds[BROKER_CGROUP_CPU]);
    f->fds[BROKER_CGROUP_CPU] = open_file(mount_fd, folder, "cpu.stat");
    return false;
}

/* Gets how much the cgroup @folder may have swapped out. Version 1 has a limit for memory and swap
 * together. */
static bool read_swap_limit(int mount_fd, const char *folder, uint64_t *ret)
{
    uint64_t both, memory;

    if (cgroup_read_numbers(mount_fd, folder, "memory.swap.max", ret, 1))
        return true;
    if (!cgroup_read_numbers(mount_fd, folder, "memory.memsw.limit_in_bytes", &both, 1) ||
        !cgroup_read_numbers(mount_fd, folder, "memory.limit_in_bytes", &memory, 1) ||
        both >= NO_MEMORY_LIMIT)
        return false;
    *ret = both - MIN(memory, both);
    return true;
}

/* The files of the memory controller, and the least room for swap so far. */
struct memory_files {
    struct broker_cgroup_files *files;
    uint64_t swap_left; /* bytes */
};

static void see_swap(struct memory_files *m, int mount_fd, const char *folder)
{
    struct broker_cgroup_files *f = m->files;
    uint64_t limit, used = 0;

    if (!read_swap_limit(mount_fd, folder, &limit) || limit >= NO_MEMORY_LIMIT)
        return;
    cgroup_read_numbers(mount_fd, folder, "memory.swap.current", &used, 1);
    if (limit - MIN(used, limit) > m->swap_left)
        return; /* of equal limits the outer one counts, because its use is at least as high */
    m->swap_left = limit - MIN(used, limit);
    f->swap_limit = limit;
    close_fd(f->fds[BROKER_CGROUP_SWAP]);
    f->fds[BROKER_CGROUP_SWAP] = open_file(mount_fd, folder, "memory.swap.current");
    open_first(&f->fds[BROKER_CGROUP_SWAP], mount_fd, folder, "memory.stat");
}

static bool see_memory(void *cookie, int mount_fd, const char *folder)
{
    struct memory_files *m = cookie;
    struct broker_cgroup_files *f = m->files;
    uint64_t limit;

    open_first(&f->fds[BROKER_CGROUP_KILLS], mount_fd, folder, "memory.events");
    open_first(&f->fds[BROKER_CGROUP_KILLS], mount_fd, folder, "memory.oom_control");
    open_first(&f->fds[BROKER_CGROUP_MEMORY_PRESSURE], mount_fd, folder, "memory.pressure");
    if ((cgroup_read_numbers(mount_fd, folder, "memory.max", &limit, 1) ||
         cgroup_read_numbers(mount_fd, folder, "memory.limit_in_bytes", &limit, 1)) &&
        limit && limit < NO_MEMORY_LIMIT && (!f->memory_limit || limit < f->memory_limit))
        f->memory_limit = limit;
    see_swap(m, mount_fd, folder);
    return false;
}

void cgroup_files_open(const struct server *s, struct span cgroup, struct broker_cgroup_files *ret)
{
    struct memory_files memory = { ret, UINT64_MAX };

    *ret = (struct broker_cgroup_files){ .swap_limit = UINT64_MAX };
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        ret->fds[i] = -1;
    if (cgroup_is_too_deep(cgroup)) /* the cgroups at those levels are not its own */
        return;
    cgroup_any(s, cgroup, "cpu", see_cpu, ret);
    cgroup_any(s, cgroup, "memory", see_memory, &memory);
}
