/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/tracepoint.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "sample/private_fs.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#define ID_BYTES 32
#define PATH_BYTES 192

/* Paths here and, for flamed-broker in a container, on the host. */
static const char *const TRACEFS[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing",
                                       "/proc/1/root/sys/kernel/tracing",
                                       "/proc/1/root/sys/kernel/debug/tracing" };

static int own_fd = -1; /* root of our own mount; negative: none. Set before threads start */

/* Opens the first folder of TRACEFS with events. A folder without events is an unused mount
 * point. */
static int open_mounted(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(TRACEFS); i++) {
        _cleanup_close_ int fd = open(TRACEFS[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0 && faccessat(fd, "events", F_OK, 0) == 0)
            return take_fd(&fd);
    }
    return -ENOENT;
}

void tracepoint_prepare(void)
{
    _cleanup_close_ int mounted = open_mounted();

    if (mounted < 0 && !old_kernel_pretended("tracefs"))
        own_fd = private_fs_open("tracefs", MOUNT_ATTR_RDONLY);
}

static int open_tracefs(struct error *err)
{
    int fd = open_mounted();

    if (fd < 0 && own_fd >= 0)
        fd = fcntl(own_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        error_remedy(err, "mount it: mount -t tracefs nodev /sys/kernel/tracing");
    return fd < 0 ? -ENOENT : fd;
}

int tracepoint_list(struct buf *ret, struct error *err)
{
    _cleanup_close_ int fd = open_tracefs(err);
    int r;

    if (fd < 0)
        return error_set(err, fd,
                         "tracefs, the kernel's list of tracepoints, is not mounted where "
                         "flamed-broker runs");
    r = buf_read_at(ret, fd, "available_events");
    return r == 0 || r == -EFBIG ? 0 : error_code(err, r, "cannot read the list of tracepoints");
}

static int open_events(struct span group, struct span name, struct error *err)
{
    int fd = open_tracefs(err);

    if (fd >= 0)
        return fd;
    return error_parameter(err, "event", -ENOENT,
                           "the tracepoint %.*s:%.*s cannot be looked up: tracefs, the kernel's "
                           "list of them, is not mounted where flamed-broker runs",
                           (int)group.n, group.p, (int)name.n, name.p);
}

/* Reads the file @file of a tracepoint. */
static int read_of(struct span group, struct span name, const char *file, struct buf *ret,
                   struct error *err)
{
    _cleanup_close_ int fs_fd = open_events(group, name, err);
    char path[PATH_BYTES];
    int n, r;

    if (fs_fd < 0)
        return fs_fd;
    n = snprintf(path, sizeof(path), "events/%.*s/%.*s/%s", (int)group.n, group.p, (int)name.n,
                 name.p, file);
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    r = buf_read_at(ret, fs_fd, path);
    if (r == -ENOENT) {
        error_remedy(err,
                     "/sys/kernel/tracing/available_events lists the tracepoints; a function is "
                     "written with its file's name, such as libc.so.6:malloc");
        return error_parameter(err, "event", r, "this kernel has no tracepoint %.*s:%.*s",
                               (int)group.n, group.p, (int)name.n, name.p);
    }
    return r < 0 ? error_code(err, r, "cannot read the %s of the tracepoint %.*s:%.*s", file,
                              (int)group.n, group.p, (int)name.n, name.p)
                 : 0;
}

int tracepoint_format(struct span group, struct span name, struct buf *ret, struct error *err)
{
    return read_of(group, name, "format", ret, err);
}

int tracepoint_id(struct span group, struct span name, uint64_t *ret_id, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(ID_BYTES);
    int r;

    r = read_of(group, name, "id", &text, err);
    if (r < 0)
        return r;
    return span_parse_dec(span_trim(buf_span(&text)), ret_id)
               ? 0
               : error_set(err, -EBADMSG, "tracefs gives no number for the tracepoint");
}
