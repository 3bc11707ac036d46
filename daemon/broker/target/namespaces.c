/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/namespaces.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>

#define BIT(cap) (UINT64_C(1) << (cap))

/* The capabilities that flamed-attach begins with (lockdown.c). */
#define HELPER_CAPABILITIES                                                                        \
    (BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE) | BIT(CAP_SYS_CHROOT) | BIT(CAP_SETUID) |            \
     BIT(CAP_SETGID) | BIT(CAP_KILL))

/* Fixed in the kernel since 4.6: PROC_CGROUP_INIT_INO, include/linux/proc_ns.h. */
#define CGROUP_NS_INITIAL 0xeffffffb

/* Returns true if @t is in our namespace of the kind @name. A kernel without such namespaces has
 * all processes in the same one. */
static bool is_ours(const struct server *s, const struct target *t, const char *name)
{
    struct stat ours, theirs;
    char path[32];

    snprintf(path, sizeof(path), "self/ns/%s", name);
    if (fstatat(s->proc_fd, path, &ours, 0) < 0)
        return errno == ENOENT;
    return fstatat(t->dir_fd, path + strlen("self/"), &theirs, 0) == 0 &&
           ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

/* Returns true if @t is in the initial cgroup namespace. If it is and our cgroup namespace is not
 * the initial one, we are in a container. */
static bool has_initial_cgroup_ns(const struct target *t)
{
    struct stat theirs;

    return fstatat(t->dir_fd, "ns/cgroup", &theirs, 0) == 0 && theirs.st_ino == CGROUP_NS_INITIAL;
}

uint32_t namespaces_foreign(const struct server *s, const struct target *t)
{
    static const struct {
        const char *name;
        uint32_t flag;
    } KINDS[] = {
        { "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },        { "pid", CLONE_NEWPID },
        { "ipc", CLONE_NEWIPC },   { "net", CLONE_NEWNET },       { "uts", CLONE_NEWUTS },
        { "time", CLONE_NEWTIME }, { "cgroup", CLONE_NEWCGROUP },
    };
    uint32_t flags = 0;

    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        if (!is_ours(s, t, KINDS[i].name))
            flags |= KINDS[i].flag;
    }
    return flags;
}

/* Finds out whether the target's cgroup is that of a container: by a separate cgroup namespace, or
 * by the cgroup's name. */
static int is_contained(const struct target *t, uint32_t foreign, bool *ret, struct error *err)
{
    _cleanup_buf_ struct buf cgroup = BUF_NULL;
    int r = target_read_proc(t, "cgroup", &cgroup, err);

    *ret = (foreign & CLONE_NEWCGROUP && !has_initial_cgroup_ns(t)) ||
           cgroup_is_container(buf_span(&cgroup));
    return r;
}

static int refuse_switching(const struct target *t, struct error *err)
{
    error_set(err, -EPERM,
              "process %d is in a container that may have CAP_SYS_ADMIN and "
              "CAP_SYS_PTRACE of the host: it could switch off the filters of "
              "flamed-attach",
              t->host_pid);
    error_remedy(err,
                 "run the container without one of them or in a user namespace; symbols=memory "
                 "needs no attach");
    return -EPERM;
}

static int refuse_taking(const struct target *t, struct error *err)
{
    error_set(err, -EPERM,
              "process %d shares the host's pid namespace and may have CAP_SYS_PTRACE, so that its "
              "container could take over what attaches to it",
              t->host_pid);
    error_remedy(err, "run its container without hostPID or without CAP_SYS_PTRACE; symbols=memory "
                      "needs no attach");
    return -EPERM;
}

int namespaces_check_tracing(const struct target *t, const struct proc_status *status,
                             uint32_t foreign, struct error *err)
{
    uint64_t has = status->capability_bounds;
    bool contained;
    int r;

    /* Capabilities in another user namespace do not reach a process that was executed in ours. */
    if (foreign & CLONE_NEWUSER || !(has & BIT(CAP_SYS_PTRACE)))
        return 0;
    if (has & BIT(CAP_SYS_ADMIN)) {
        r = is_contained(t, foreign, &contained, err);
        if (r || contained)
            return r ? r : refuse_switching(t, err);
    }
    if (!(foreign & CLONE_NEWPID) && (has & HELPER_CAPABILITIES) != HELPER_CAPABILITIES)
        return refuse_taking(t, err);
    return 0;
}
