/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by peers.bpf.c, its loader, and flamed, which reads the answers. No padding. */
#pragma once

#include "sample/sample_abi.h"

#define PEERS_MAX 4             /* threads of one request */
#define PEERS_ADDRESS_BYTES 108 /* of a Unix socket's path, or of an address of IPv4 or IPv6 */
#define PEERS_FD_MAX 0x7fffffff

/* A thread in question, and a descriptor: the peer of that socket is wanted; -1: none. */
struct peers_wanted {
    SAMPLE_U32 host_tid;
    int fd;
};

/* What a thread waits in, and the peer of a socket. */
struct waiting_peer {
    SAMPLE_U64 call, first, second; /* the system call, and its first two arguments */
    SAMPLE_U32 host_tid;            /* 0: the thread does not wait in a system call */
    SAMPLE_U16 family;              /* AF_INET, AF_INET6 or AF_UNIX; 0: no such peer */
    SAMPLE_U16 port;                /* in host order */
    SAMPLE_U8 address[PEERS_ADDRESS_BYTES];
    SAMPLE_U32 zero;
};

#ifndef __bpf__
_Static_assert(sizeof(struct waiting_peer) == 144, "waiting_peer must have no padding");
#endif
