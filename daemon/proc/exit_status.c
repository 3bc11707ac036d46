/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/exit_status.h"

#include <poll.h>
#include <sys/ioctl.h>

#define WAIT_STATUS_MASK 0xffff

/* Part of struct pidfd_info of linux/pidfd.h in Linux 6.15. The headers of many machines are older.
 */
struct pidfd_exit_info {
    uint64_t mask, cgroup_id;
    uint32_t ids[11]; /* pid, tgid, ppid, then users and groups */
    int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_exit_info) == 64, "as in the kernel");
#define PIDFD_EXIT UINT64_C(8)
#define PIDFD_GET_EXIT_INFO _IOWR(0xff, 11, struct pidfd_exit_info)
_Static_assert(PIDFD_GET_EXIT_INFO == EXIT_STATUS_CALL, "the header has its number");

bool exit_has_come(int pidfd)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };

    return pidfd >= 0 && poll(&p, 1, 0) != 0;
}

bool exit_status_of(int pidfd, int *ret_status)
{
    struct pidfd_exit_info info = { .mask = PIDFD_EXIT };

    if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_EXIT_INFO, &info) < 0 || !(info.mask & PIDFD_EXIT))
        return false;
    *ret_status = info.exit_code & WAIT_STATUS_MASK;
    return true;
}

bool exit_status_of_zombie(int proc_fd, const struct proc_id *id, int *ret_status)
{
    struct proc_stat st;

    if (proc_read_stat(proc_fd, id->host_pid, &st) != 0 || st.state != 'Z' ||
        !proc_stat_is_dead(&st) || st.start_ticks != id->start_ticks)
        return false;
    *ret_status = st.exit_status;
    return true;
}
