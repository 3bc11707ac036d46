/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_identity.h"

#include "base/clock.h"
#include "base/fnv1a.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* AT_HANDLE_FID of Linux 6.5, which some build machines' headers lack. It asks for a handle that
 * need not be usable for opening the file. Overlay file systems offer no other. */
#define HANDLE_FID 0x200

struct handle {
    struct file_handle head;
    unsigned char bytes[MAX_HANDLE_SZ];
};

static uint64_t timestamp_ns(const struct statx_timestamp *t)
{
    return (uint64_t)t->tv_sec * NSEC_PER_SEC + t->tv_nsec;
}

static bool get_handle(int fd, int flags, struct handle *ret)
{
    int mount;

    *ret = (struct handle){ .head.handle_bytes = sizeof(ret->bytes) };
    return name_to_handle_at(fd, "", &ret->head, &mount, AT_EMPTY_PATH | flags) == 0;
}

static uint64_t handle_of(int fd)
{
    struct handle h;
    uint64_t hash = FNV1A_START;

    if (!get_handle(fd, HANDLE_FID, &h) && !get_handle(fd, 0, &h))
        return 0;
    hash = fnv1a(hash, &h.head.handle_type, sizeof(h.head.handle_type));
    return fnv1a(hash, h.head.f_handle, MIN(h.head.handle_bytes, (unsigned)MAX_HANDLE_SZ));
}

static bool is_settled(uint64_t changed_ns)
{
    uint64_t now_ns = clock_realtime_ns();

    return (changed_ns > now_ns ? changed_ns - now_ns : now_ns - changed_ns) >
           FILE_IDENTITY_SETTLED_NS;
}

bool file_identity_of(int fd, struct file_identity *ret)
{
    struct statx st;

    *ret = (struct file_identity){ 0 };
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
        !is_settled(timestamp_ns(&st.stx_ctime)))
        return false;
    *ret = (struct file_identity){
        .device = makedev(st.stx_dev_major, st.stx_dev_minor),
        .inode = st.stx_ino,
        .bytes = st.stx_size,
        .changed_ns = timestamp_ns(&st.stx_ctime),
        .born_ns = st.stx_mask & STATX_BTIME ? timestamp_ns(&st.stx_btime) : 0,
        .handle = handle_of(fd),
    };
    return ret->inode != 0;
}

bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
    return a->inode && a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed_ns == b->changed_ns && a->born_ns == b->born_ns && a->handle == b->handle;
}
