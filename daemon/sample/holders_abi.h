/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What holders.bpf.c and its loader share. */
#pragma once

#include <linux/types.h>

#define HOLDERS_LATE 0xffffffffu    /* in place of a process: the time is over */
#define HOLDERS_SOCKETS 32          /* that one look is for */
#define HOLDERS_OF_SOCKET 64        /* of its processes; a power of two */
#define HOLDERS_BOUNDED 0x80000000u /* in a process's number: as HOLDER_BOUNDED */

struct holders_socket {
    __u64 key;   /* cookie or inode; 0: none */
    __u32 count; /* of all that hold it */
    __u32 last;  /* that was counted: it may hold the socket by many descriptors */
    __u32 pids[HOLDERS_OF_SOCKET];
};
