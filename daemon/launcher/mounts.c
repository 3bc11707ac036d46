/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/mounts.h"

#include "agent/stream.h"
#include "base/cleanup.h"
#include "launcher/detached.h"
#include "privileged/embedded.h"
#include "privileged/memfd.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT_SIZE "256k"
#define STREAM_SIZE "18944k" /* STREAM_BYTES and spare room */
#define TMP_SIZE "1m"

_Static_assert(STREAM_BYTES + 65536 <= UINT64_C(18944) << 10, "STREAM_SIZE has room for it");

void mounts_init(int proc_fd, struct mounts_names *ret)
{
    *ret = (struct mounts_names){ 0 };
    proc_read_start(proc_fd, getpid(), &ret->own_ticks);
}

static int write_agent(int root)
{
    struct span agent = embedded_agent;
    _cleanup_close_ int fd = openat(root, ATTACH_MOUNT_AGENT,
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

    return fd < 0 ? -errno : memfd_write(fd, agent.p, agent.n);
}

/* Makes a file system with the agent of this build and a folder for the output. At the end makes it
 * read-only, which requires that no file in it is open for writing. */
static int make_agent(const char *source, int *ret_root)
{
    _cleanup_detached_ struct detached fs = DETACHED_NULL;
    int r = detached_make(source, AGENT_SIZE, "0755", 0, &fs);

    if (r == 0)
        r = write_agent(fs.root_fd);
    if (r == 0 && mkdirat(fs.root_fd, ATTACH_MOUNT_FOLDER, 0555) < 0)
        r = -errno;
    if (r == 0)
        r = detached_make_read_only(&fs);
    if (r == 0)
        *ret_root = take_fd(&fs.root_fd);
    return r;
}

/* Makes the file system with the JVM's output file. @paid: allocates its pages now, so that they
 * are charged to flamed. Only flamed may write to the file's folder. */
static int make_stream(const char *source, int template_fd, bool paid, uint32_t uid, uint32_t gid,
                       int *ret_root, int *ret_file)
{
    _cleanup_detached_ struct detached fs = DETACHED_NULL;
    _cleanup_close_ int fd = -1;
    struct stream_header h;
    int root, r = detached_make(source, STREAM_SIZE, "0777", MOUNT_ATTR_NOEXEC, &fs);

    if (r < 0)
        return r;
    root = fs.root_fd;
    if (pread(template_fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
        return -EIO;
    setfsgid(gid);
    setfsuid(uid);
    fd =
        openat(root, ATTACH_MOUNT_STREAM, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    r = fd < 0 ? -errno : 0;
    setfsuid(geteuid());
    setfsgid(getegid());
    if (r == 0 && ftruncate(fd, (off_t)STREAM_BYTES) < 0)
        r = -errno;
    if (r == 0 && paid && fallocate(fd, 0, 0, (off_t)STREAM_BYTES) < 0)
        r = -errno;
    if (r == 0)
        r = memfd_write(fd, &h, sizeof(h));
    if (r == 0 && fchmodat(root, ".", 0555, 0) < 0)
        r = -errno;
    if (r == 0) {
        *ret_root = take_fd(&fs.root_fd);
        *ret_file = take_fd(&fd);
    }
    return r;
}

int mounts_make(struct mounts_names *names, uint32_t wanted, int template_fd, uint32_t uid,
                uint32_t gid, struct mounts *ret)
{
    struct mounts m = MOUNTS_NULL;
    int r = 0;

    snprintf(m.source, sizeof(m.source), MOUNTS_SOURCE "%d-%ju-%ju", getpid(),
             (uintmax_t)names->own_ticks, (uintmax_t)++names->last);
    if (wanted & ATTACH_MOUNTS_AGENT) {
        r = make_agent(m.source, &m.agent);
        if (r == 0)
            r = make_stream(m.source, template_fd, wanted & ATTACH_MOUNTS_PAID, uid, gid, &m.stream,
                            &m.file);
    }
    if (r == 0 && wanted & ATTACH_MOUNTS_TMP) {
        _cleanup_detached_ struct detached fs = DETACHED_NULL;

        r = detached_make(m.source, TMP_SIZE, "1777", MOUNT_ATTR_NOEXEC, &fs);
        if (r == 0)
            m.tmp = take_fd(&fs.root_fd);
    }
    if (r < 0)
        mounts_drop(&m);
    else
        *ret = m;
    return r;
}

void mounts_drop(struct mounts *m)
{
    m->agent = close_fd(m->agent);
    m->stream = close_fd(m->stream);
    m->tmp = close_fd(m->tmp);
    m->file = close_fd(m->file);
}
