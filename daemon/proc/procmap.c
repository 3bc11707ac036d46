/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/procmap.h"

#include "base/old_kernel.h"

#include <sys/ioctl.h>

#define DELETED " (deleted)"

/* A copy from include/uapi/linux/fs.h of Linux 6.11, because the headers of a build may be older.
 */
struct procmap_question {
    uint64_t size, query_flags, query_addr;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
#define QUERY _IOWR('f', 17, struct procmap_question)
_Static_assert(QUERY == PROCMAP_QUERY_CALL, "the number holds the size of what is asked");

int procmap_query(int fd, uint64_t address, unsigned flags, struct procmap *name,
                  struct mapping *ret)
{
    struct procmap_question q = { .size = sizeof(q),
                                  .query_addr = address,
                                  .query_flags = flags,
                                  .vma_name_size = sizeof(name->name),
                                  .vma_name_addr = (uintptr_t)name->name };
    int r = old_kernel_pretended("procmap_query") ? -ENOTTY : 0;

    if (r == 0)
        r = ioctl(fd, QUERY, &q) < 0 ? -errno : 0;

    if (r == -ENAMETOOLONG) {
        q.vma_name_size = 0;
        q.vma_name_addr = 0;
        r = ioctl(fd, QUERY, &q) < 0 ? -errno : 0;
    }
    if (r < 0)
        return r;
    *ret = (struct mapping){ .start = q.vma_start,
                             .end = q.vma_end,
                             .offset = q.vma_offset,
                             .inode = q.inode,
                             .dev_major = q.dev_major,
                             .dev_minor = q.dev_minor,
                             .read = q.vma_flags & 1,
                             .write = q.vma_flags & PROCMAP_WRITE,
                             .exec = q.vma_flags & PROCMAP_EXEC };
    ret->path = (struct span){ name->name, q.vma_name_size ? q.vma_name_size - 1 : 0 };
    if (span_ends_with(ret->path, DELETED)) {
        ret->path.n -= strlen(DELETED);
        ret->deleted = true;
    }
    return 0;
}
