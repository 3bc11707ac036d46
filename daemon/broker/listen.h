/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How clients come to the broker: one connected socket, or a listening one and one client at a
 * time.
 */
#pragma once

#include "broker/server.h"

/* Serves the connected socket @fd (borrowed) until its peer leaves. 0 or -errno. */
int serve_connection(struct server *s, int fd);

#define LISTEN_PASSED_MAX 2
/* Returns how many descriptors systemd passed (LISTEN_FDS), from 3 on; 0: none, or more than
 * LISTEN_PASSED_MAX. They are closed at an exec from here on. */
size_t listen_passed(void);
/* Returns the listening socket that systemd passed (LISTEN_FDS), or -1. */
int listen_inherited(void);
/* The group that may connect: flamed under systemd is in it, its users are not. */
#define LISTEN_GROUP "flamed-broker"

/* Makes the SEQPACKET socket @path and the folder around it, replacing a stale socket. It is for
 * root and LISTEN_GROUP (for root alone if there is no such group). 0 or -errno. */
int listen_at(const char *path, int *ret_fd, struct error *err);
/* Serves clients of @listen_fd whose user is @uid or root, one at a time, without end. Return:
 * -errno. */
int serve_listener(struct server *s, int listen_fd, uid_t uid, struct error *err);
