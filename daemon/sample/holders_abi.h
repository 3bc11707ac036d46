/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by holders.bpf.c, tables.bpf.h and their loaders. */
#pragma once

#include <linux/bpf.h>

#define HOLDERS_LATE 0xffffffffu    /* in place of a process: the walk exceeded its time */
#define HOLDERS_SOCKETS 32          /* sockets of one walk */
#define HOLDERS_OF_SOCKET 64        /* stored holders of a socket; a power of two */
#define HOLDERS_BOUNDED 0x80000000u /* flag in a process's number, as HOLDER_BOUNDED */

struct holders_socket {
    __u64 key;   /* cookie or inode; 0: none */
    __u32 count; /* number of all holders */
    __u32 last;  /* the last one counted, which may hold the socket by several descriptors */
    __u32 pids[HOLDERS_OF_SOCKET];
};

struct tables_run {
    struct holders_socket sockets[HOLDERS_SOCKETS];
    __u64 end_ns;
    __u32 whole; /* the result: 1: sockets has all holders */
    __u32 zero;
};
