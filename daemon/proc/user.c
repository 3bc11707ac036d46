/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the user who may look into a process, by the rule of the kernel's ptrace_may_access()
 * for users, or a narrower one. Groups do not matter here: the kernel compares them, too. An id
 * alone is not enough: a container has users of its own with the same numbers.
 */
#include "base/ascii.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <sys/stat.h>

#define ID_OVERFLOW 65534 /* stands for every id that is not mapped here */
#define CONTAINER_ID_BYTES 64

bool id_map_is_identity(struct span text)
{
    uint64_t numbers[3];
    struct span line, rest = text;

    if (!span_take_line(&rest, &line) || span_trim(rest).n)
        return false;
    for (size_t i = 0; i < 3; i++) {
        span_skip_blanks(&line);
        if (!span_take_dec(&line, &numbers[i]))
            return false;
    }
    return numbers[0] == 0 && numbers[1] == 0 && numbers[2] == UINT32_MAX;
}

static bool has_id(struct span s)
{
    size_t run = 0;

    for (size_t i = 0; i < s.n; i++) {
        run = ascii_is_lower_hex(s.p[i]) ? run + 1 : 0;
        if (run == CONTAINER_ID_BYTES)
            return true;
    }
    return false;
}

bool cgroup_is_container(struct span text)
{
    static const char *const WORDS[] = { "docker",   "kubepods",      "libpod",
                                         "crio",     "lxc",           "cri-containerd",
                                         "buildkit", "machine.slice", "garden",
                                         "ecs/" };
    struct cgroup_line line;

    while (cgroup_take_line(&text, &line)) {
        if (has_id(line.path))
            return true;
        for (size_t i = 0; i < ARRAY_SIZE(WORDS); i++) {
            struct span service = SPAN("/system.slice/docker.service");

            /* The service of the container runtime is no container. */
            if (span_eq(line.path, service) ||
                !memmem(line.path.p, line.path.n, WORDS[i], strlen(WORDS[i])))
                continue;
            return true;
        }
    }
    return false;
}

/* Returns the owner of the files in /proc/PID; UINT32_MAX if that cannot be read. The owner is the
 * process's own user if the process may be dumped. Otherwise it is root, or the root of the user
 * namespace in which its program was started. A process may not be dumped after set-user-ID, file
 * capabilities, a program that its user may not read, or prctl(2). The owner of the folder
 * /proc/PID itself does not show that. */
static uint32_t dump_user(int proc_fd, int32_t host_pid)
{
    char name[24];
    struct stat st;

    snprintf(name, sizeof(name), "%d/fd", host_pid);
    return fstatat(proc_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? UINT32_MAX : st.st_uid;
}

uint32_t proc_user(int proc_fd, const struct proc_status *status, struct span uid_map,
                   struct span cgroup, int32_t host_pid)
{
    if (status->real_uid != status->uid || status->saved_uid != status->uid ||
        status->uid == ID_OVERFLOW || status->capabilities != 0 || status->ns_depth != 1 ||
        !id_map_is_identity(uid_map) || cgroup_is_container(cgroup))
        return 0;
    return dump_user(proc_fd, host_pid) == status->uid ? status->uid : 0;
}

bool proc_is_namespaced(int proc_fd, const struct proc_status *status, struct span uid_map,
                        int32_t host_pid)
{
    uint32_t dump;

    if (status->real_uid != status->uid || status->saved_uid != status->uid || status->uid == 0 ||
        status->uid == ID_OVERFLOW || id_map_is_identity(uid_map) ||
        id_map_inside(uid_map, status->uid) < 0)
        return false;
    dump = dump_user(proc_fd, host_pid);
    return dump == status->uid ||
           (dump != 0 && dump != ID_OVERFLOW && id_map_inside(uid_map, dump) == 0);
}
