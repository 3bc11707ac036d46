/* SPDX-License-Identifier: Apache-2.0 */
/* Files of this machine in place of the broker's answers, for tests of symbolize/. */
#pragma once

#include "base/cleanup.h"
#include "symbolize/files.h"

#include <fcntl.h>

struct local_files {
    const char *perf_map;          /* path; NULL: none */
    const char *debug, *debuglink; /* paths of the separate debug file; NULL: none */
    const char *kallsyms;          /* path; NULL: refused */
    const char *maps;              /* path; NULL: the process's own */
    unsigned maps_reads, mapped_opens, debug_asked, link_asked;
    char link_name[256];
};

static inline int local_open(const char *path, int *ret_fd)
{
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return 2; /* BROKER_ABSENT */
    *ret_fd = fd;
    return 0;
}

static inline int local_maps(struct broker *cookie, const struct proc_id *id, int *ret_fd,
                             struct error *err)
{
    struct local_files *l = (void *)cookie;
    char path[64];

    (void)err;
    l->maps_reads++;
    snprintf(path, sizeof(path), "/proc/%d/maps", id->host_pid);
    return local_open(l->maps ? l->maps : path, ret_fd) ? PROC_GONE : 0;
}

static inline int local_mapped(struct broker *cookie, const struct proc_id *id, uint64_t start,
                               uint64_t end, int *ret_fd, struct error *err)
{
    struct local_files *l = (void *)cookie;
    char path[128];

    (void)err;
    l->mapped_opens++;
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", id->host_pid,
             (unsigned long long)start, (unsigned long long)end);
    return local_open(path, ret_fd);
}

static inline int local_debug(struct broker *cookie, const struct proc_id *id,
                              const uint8_t *build_id, size_t n, int *ret_fd, struct error *err)
{
    struct local_files *l = (void *)cookie;
    char path[256] = "/usr/lib/debug/.build-id/";

    (void)id, (void)err;
    l->debug_asked++;
    if (l->debug)
        return local_open(l->debug, ret_fd);
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(path);

        snprintf(path + at, sizeof(path) - at, i == 0 ? "%02x/" : "%02x", build_id[i]);
    }
    strncat(path, ".debug", sizeof(path) - strlen(path) - 1);
    return local_open(path, ret_fd);
}

static inline int local_debug_shared(struct broker *cookie, const struct proc_id *id,
                                     struct span name, int *ret_fd, struct error *err)
{
    (void)cookie, (void)id, (void)name, (void)ret_fd, (void)err;
    return 2;
}

static inline int local_debuglink(struct broker *cookie, const struct proc_id *id, uint64_t start,
                                  uint64_t end, const char *basename, int *ret_fd,
                                  struct error *err)
{
    struct local_files *l = (void *)cookie;

    (void)id, (void)start, (void)end, (void)err;
    l->link_asked++;
    snprintf(l->link_name, sizeof(l->link_name), "%s", basename);
    return local_open(l->debuglink, ret_fd);
}

static inline int local_perfmap(struct broker *cookie, const struct proc_id *id, int *ret_fd,
                                struct error *err)
{
    (void)id, (void)err;
    return local_open(((struct local_files *)(void *)cookie)->perf_map, ret_fd);
}

static inline int local_kallsyms(struct broker *cookie, int *ret_fd, struct error *err)
{
    struct local_files *l = (void *)cookie;

    if (!l->kallsyms)
        return error_set(err, -EPERM, "no right to read it");
    return local_open(l->kallsyms, ret_fd);
}

static inline struct symbol_files local_symbol_files(struct local_files *l)
{
    return (struct symbol_files){ .cookie = l,
                                  .maps = local_maps,
                                  .mapped = local_mapped,
                                  .debug = local_debug,
                                  .debug_shared = local_debug_shared,
                                  .debuglink = local_debuglink,
                                  .perfmap = local_perfmap,
                                  .kallsyms = local_kallsyms };
}
