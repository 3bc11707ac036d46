/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that start an attach. The broker collects the input of flamed-attach through the pinned
 * target, and passes it to the launcher. flamed gets the result through a pipe, so the broker does
 * not wait for it.
 */
#include "agent/stream.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/opener_looks.h"
#include "broker/target/agent_files.h"
#include "broker/target/attach_headroom.h"
#include "broker/target/cgroups.h"
#include "broker/target/namespaces.h"
#include "broker/target/owner_files.h"
#include "broker/target/target.h"
#include "launcher/launcher.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maps the host's id @outside to the id that the target's user namespace has for it. */
static int map_id(const struct target *t, const char *file, uint32_t outside, uint32_t *ret,
                  struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    int64_t inside;
    int r = target_read_proc(t, file, &text, err);

    if (r)
        return r;
    inside = id_map_inside(buf_span(&text), outside);
    if (inside < 0 || inside > UINT32_MAX) {
        error_set(err, -EOVERFLOW, "id %u of process %d has no name in its own user namespace",
                  outside, t->host_pid);
        error_remedy(err, "map it in the container's uid_map and gid_map");
        return -EOVERFLOW;
    }
    *ret = (uint32_t)inside;
    return 0;
}

/* Refuses a target in a cgroup that is frozen, or may be. 0; PROC_GONE; -errno with @err. */
static int check_frozen(const struct server *s, const struct target *t, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    int r = target_read_proc(t, "cgroup", &text, err), frozen;

    if (r)
        return r;
    frozen = cgroup_frozen(s, buf_span(&text));
    if (frozen < 0)
        return cgroup_refuse_unknown(t, frozen, err);
    if (frozen == 0)
        return 0;
    error_set(err, -EBUSY, "the cgroup of process %d is frozen", t->host_pid);
    error_remedy(err, "unfreeze the container (unpause it)");
    return -EBUSY;
}

/* Checks that the target is in a state that allows an attach. */
static int check_state(const struct server *s, const struct target *t,
                       const struct proc_status *status, uint64_t mappings, struct error *err)
{
    int r;

    if (status->state == 'Z' || status->state == 'X')
        return PROC_GONE;
    if (status->state == 'T' || status->state == 't') {
        error_set(err, -EBUSY, "process %d is stopped", t->host_pid);
        error_remedy(err, "let it go on (kill -CONT %d), or detach the debugger", t->host_pid);
        return -EBUSY;
    }
    r = check_frozen(s, t, err);
    if (r)
        return r;
    if (!(status->signals_caught >> (SIGQUIT - 1) & 1)) {
        error_set(
            err, -EOPNOTSUPP,
            "process %d does not catch SIGQUIT, so to attach might end it (it runs with -Xrs, "
            "or is in its first moments)",
            t->host_pid);
        error_remedy(err, "symbols=memory needs no attach; or start the JVM without -Xrs");
        return -EOPNOTSUPP;
    }
    return attach_headroom_check(s, t, status->uid, mappings, err);
}

/* Returns true if the process has the mounts of the host's init. Returns false if that cannot be
 * read (init in a container, a security module): then only our own mounts are recognized as the
 * host's. If the host's mounts are shared, as under systemd, nothing is mounted in any case. */
static bool is_in_init_mounts(const struct server *s, int32_t host_pid)
{
    struct stat init, theirs;
    char path[32];

    snprintf(path, sizeof(path), "%d/ns/mnt", host_pid);
    return fstatat(s->proc_fd, "1/ns/mnt", &init, 0) == 0 &&
           fstatat(s->proc_fd, path, &theirs, 0) == 0 && init.st_ino == theirs.st_ino &&
           init.st_dev == theirs.st_dev;
}

/* Collects the mounts to make. None is made in our own mount namespace, nor in that of the host's
 * init. */
static int collect_mounts(const struct server *s, const struct attach_fields *q,
                          const struct proc_status *status, struct launcher_message *m,
                          struct error *err)
{
    m->mounts = (q->mode == ATTACH_MOUNT ? ATTACH_MOUNTS_AGENT : 0) |
                (q->mount_tmp ? ATTACH_MOUNTS_TMP : 0);
    if (!m->mounts)
        return 0;
    if (!s->options.attach_mount) {
        error_set(err, -EPERM, "flamed-broker may not mount in containers");
        error_remedy(err, "start it with --attach-mount");
        return -EPERM;
    }
    if (!(m->job.ns_flags & CLONE_NEWNS) || is_in_init_mounts(s, q->target.host_pid))
        return error_set(err, -EPERM,
                         "process %d runs in the host's own mount namespace, where nothing is "
                         "mounted",
                         q->target.host_pid);
    m->job.timeout_ms = ATTACH_MOUNTED_MS;
    m->host_uid = status->uid;
    m->host_gid = status->gid;
    return 0;
}

static int refuse_namespaces(const struct target *t, struct error *err)
{
    error_set(err, -EOPNOTSUPP,
              "process %d runs in namespaces of its own, which this kernel cannot enter by a pidfd",
              t->host_pid);
    error_remedy(err, "symbols=memory needs no attach; to attach to containers takes Linux 5.8");
    return -EOPNOTSUPP;
}

/* Pins the target and fills @m from it. 0, PROC_GONE, -errno. */
static int collect(struct server *s, const struct attach_fields *q, struct target *t,
                   struct launcher_message *m, struct error *err)
{
    struct attach_job *job = &m->job;
    const struct proc_id id = { .host_pid = q->target.host_pid,
                                .start_ticks = q->target.start_ticks };
    struct proc_status status;
    struct look_jvm jvm;
    int r = target_pin(s, &q->target, t, err) ?: server_refuse_own(s, q->target.host_pid, err) ?:
            target_need_thread(t, err) ?: opener_look_at_jvm(s, &q->target, &jvm, err);

    if (r)
        return r;
    r = proc_read_status(s->proc_fd, t->host_pid, &status);
    if (r < 0)
        return error_code(err, r, "cannot read the status of process %d", t->host_pid);
    if (r == 0 && status.ns_depth == 0)
        return error_set(err, -EBADMSG, "process %d has no pid of its own", t->host_pid);
    if (r)
        return r;
    if (status.uid != jvm.uid || status.gid != jvm.gid)
        return error_set(err, -EPERM, "process %d runs another program now", t->host_pid);
    r = check_state(s, t, &status, jvm.mappings, err);
    if (r)
        return r;
    *job = (struct attach_job){
        .magic = ATTACH_MAGIC,
        .version = ATTACH_VERSION,
        .ns_pid = status.ns_pid[status.ns_depth - 1],
        .mode = q->mode,
        .timeout_ms = ATTACH_DEADLINE_MS,
    };
    m->owner = server_owner(s, &id);
    r = map_id(t, "uid_map", status.uid, &job->uid, err);
    if (r == 0)
        r = map_id(t, "gid_map", status.gid, &job->gid, err);
    /* Last, because a process can enter user namespaces but not leave them. So an id that a user
     * namespace maps is never taken for an id of the host. */
    job->ns_flags = namespaces_foreign(s, t);
    if (r == 0 && job->ns_flags && !s->setns_by_pidfd)
        r = refuse_namespaces(t, err);
    if (r == 0)
        r = namespaces_check_tracing(t, &status, job->ns_flags, err);
    if (r == 0)
        r = collect_mounts(s, q, &status, m, err);
    return r ? r : target_check(t);
}

static int64_t clock_offset_ns(const struct target *t)
{
    _cleanup_buf_ struct buf text = BUF_NULL;

    return target_read_proc(t, "timens_offsets", &text, NULL) == 0
               ? timens_monotonic_ns(buf_span(&text))
               : 0;
}

/* Makes a file with the header @h, which the launcher copies into the file that it mounts.
 * *ret_paid: the pages of the mounted file are charged to us (owner_files_pay()). flamed gets this
 * file if the launcher refuses. */
static int make_template(struct server *s, const struct stream_header *h,
                         struct launcher_message *m, int *ret_fd, bool *ret_paid)
{
    _cleanup_close_ int fd = memfd_open("flamed-stream", MEMFD_DATA);

    if (fd < 0)
        return fd;
    if (pwrite(fd, h, sizeof(*h), 0) != (ssize_t)sizeof(*h))
        return -EIO;
    if (ftruncate(fd, (off_t)STREAM_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        return -errno;
    *ret_paid = owner_files_pay(&s->owner_files, m->owner);
    if (*ret_paid)
        m->mounts |= ATTACH_MOUNTS_PAID;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* Makes the memory file that the agent writes, of a fixed size. Its pages exist before the JVM
 * writes, so that they are charged to us and not to a container near its limit. Their number per
 * owner is bounded (owner_files.h); beyond it, the container must have room for them. */
static int make_stream(struct server *s, const struct attach_fields *q, const struct target *t,
                       struct launcher_message *m, int *ret_fd, struct error *err)
{
    const struct stream_header h = {
        .magic = STREAM_MAGIC,
        .version = STREAM_VERSION,
        .options = q->options,
        .clock_offset_ns = clock_offset_ns(t),
        /* lease until flamed renews it; includes the time to load the agent */
        .lease_ns = clock_monotonic_ns() + STREAM_LEASE_NS + ATTACH_DEADLINE_MS * NSEC_PER_MSEC,
    };
    bool paid = false;
    int r;

    if (q->mode == ATTACH_MOUNT) {
        r = make_template(s, &h, m, ret_fd, &paid);
        if (r < 0)
            return error_code(err, r, "cannot make a memory file for the JVM");
    } else {
        r = owner_files_take(&s->owner_files, m->owner, &h, ret_fd, &paid, err);
    }
    return r || paid ? r : attach_headroom_check_stream(s, t, err);
}

/* Makes the memory file that the JVM writes. HotSpot truncates the perf map of jcmd when it opens
 * it, which a sealed file would refuse. So the pages of that file are charged to the container. */
static int make_out(struct server *s, const struct attach_fields *q, const struct target *t,
                    struct launcher_message *m, int *ret_fd, struct error *err)
{
    if (attach_loads(q->mode))
        return make_stream(s, q, t, m, ret_fd, err);
    *ret_fd = memfd_open("flamed-perfmap", MEMFD_DATA);
    return *ret_fd < 0 ? error_code(err, *ret_fd, "cannot make a memory file for the JVM") : 0;
}

static int refuse_without_launcher(struct error *err)
{
    error_set(err, -ENOSYS, "flamed-broker has no launcher to start an attach: its log says why");
    error_remedy(err, "restart flamed-broker; symbols=memory needs no attach");
    return -ENOSYS;
}

/*
 * attach_check. Safe: reads what `attach` reads, changes nothing, and returns a sentence.
 */
int request_attach_check(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    const struct attach_fields plain = { .target = *q };
    struct launcher_message m = { 0 };
    int r = collect(s, &plain, &t, &m, &rep->err);

    return r == 0 && s->launcher_fd < 0 ? refuse_without_launcher(&rep->err) : r;
}

/* Gives back the memory file of @m, which no process of the container has had. */
static void put_back(struct server *s, const struct launcher_message *m)
{
    bool mounted = m->mounts & ATTACH_MOUNTS_AGENT;

    if (attach_loads(m->job.mode) && (!mounted || m->mounts & ATTACH_MOUNTS_PAID))
        owner_files_untouched(&s->owner_files, m->owner, mounted);
}

/* Sends @m to the launcher, with the end of a pipe for the result. *ret_result is the other end.
 * Return: 0; PROC_GONE; -errno with @err. Only after 0 may a process of the container have had
 * @out. */
static int send_job(struct server *s, struct target *t, struct launcher_message *m, int agent,
                    int out, int *ret_result, struct error *err)
{
    _cleanup_close_ int root = -1, status = -1, result = -1, result_in = -1;
    int pipe_fds[2],
        r = target_open_root(t, &root, err) ?: target_open_proc(t, "status", &status, err);

    if (r)
        return r;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return error_errno(err, "cannot make a pipe");
    result = pipe_fds[0];
    result_in = pipe_fds[1];
    r = target_check(t);
    if (r)
        return r;
    r = launcher_send(s->launcher_fd, m,
                      (const int[LAUNCHER_FDS]){ result_in, t->pidfd, agent, out, root, status });
    if (r < 0 && r != -EPIPE && r != -ECONNRESET)
        return error_code(err, r, "the launcher of flamed-broker takes no further attach now");
    if (r < 0) {
        s->launcher_fd = close_fd(s->launcher_fd);
        log_err_errno(r, "the launcher is gone: no attach will work until flamed-broker is "
                         "restarted");
        return error_code(err, r, "the launcher of flamed-broker is gone");
    }
    *ret_result = take_fd(&result);
    return 0;
}

/* Reads the launcher's immediate answer. If the launcher refused, the pipe has the reason, and no
 * process of the container has had the file. 0, or -errno: there is no answer. */
static int take_answer(struct server *s, const struct launcher_message *m, int *out)
{
    int file = -1, r = launcher_take_answer(s->launcher_fd, m, &file);

    if (r > 0)
        put_back(s, m);
    if (r == 0 && file >= 0) {
        close_fd(*out);
        *out = file;
    }
    return r < 0 ? r : 0;
}

/*
 * attach. Safe for the host: only flamed-attach enters the container, a program without a file,
 * which holds nothing but what helper/job.h lists. The broker itself enters nothing. Safe for the
 * target: only a JVM that catches SIGQUIT and is neither stopped nor frozen. The loaded code is the
 * agent of this build, which flamed cannot choose or change. There is one attach at a time per JVM,
 * and one per second of its owner, regardless of flamed's requests. flamed chooses only whether
 * stubs are named, whether the agent stays, or the JVM's own perf map. If the broker was started
 * with --attach-mount, flamed may also have the launcher mount over an empty folder of the
 * container during the attach (mounter.h). The results are memory that the JVM writes, of fixed
 * size, and a pipe: untrusted bytes.
 */
int request_attach(struct server *s, const struct attach_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int out = -1, result = -1;
    struct launcher_message m = { .host_pid = q->target.host_pid,
                                  .start_ticks = q->target.start_ticks };
    int agent = -1, r;

    if (s->launcher_fd < 0)
        return refuse_without_launcher(&rep->err);
    r = collect(s, q, &t, &m, &rep->err) ?:
        agents_get(s, &t, &q->target, opener_look_for_agent, &agent, &rep->err) ?:
        make_out(s, q, &t, &m, &out, &rep->err);
    if (r)
        return r;
    r = send_job(s, &t, &m, agent, out, &result, &rep->err);
    if (r) {
        put_back(s, &m);
        return r;
    }
    /* Without an answer both ends of the pipe are closed. So the launcher does not begin late, with
     * mounts that flamed does not know of. */
    r = take_answer(s, &m, &out);
    if (r < 0)
        return error_code(&rep->err, r, "the launcher of flamed-broker does not answer");
    reply_fd(rep, take_fd(&result));
    reply_fd(rep, take_fd(&out));
    return 0;
}

/*
 * attach_ended. Safe: the exit status of a JVM that flamed attached to.
 */
int request_attach_ended(struct server *s, const struct target_fields *q, struct reply *rep)
{
    int status = 0, r = agents_ended(s->agents, s->proc_fd, q->host_pid, q->start_ticks, &status);

    if (r == 0)
        rep->body.attach_ended.status = (uint32_t)status;
    return r;
}
