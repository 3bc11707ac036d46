/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How clients come to the broker: one connected socket, or a listening one and one client at a
 * time.
 */
#pragma once

#include "broker/server.h"

/* Serves the connected socket @fd (borrowed) until its peer leaves. 0 or -errno with @err. */
int serve_connection(struct server *s, int fd, struct error *err);

#define LISTEN_PASSED_MAX 2
/* Returns how many descriptors systemd passed (LISTEN_FDS), from 3 on. 0: none, or more than
 * LISTEN_PASSED_MAX. Marks them close-on-exec. */
size_t listen_passed(void);
/* Returns the listening socket, if it is the only descriptor that systemd passed (LISTEN_FDS), else
 * -1. */
int listen_inherited(void);
/* The group that may connect. flamed under systemd is a member; flamed's users are not. */
#define LISTEN_GROUP "flamed-broker"

/* Creates the SEQPACKET socket @path and its folder, and replaces a stale socket. root and
 * LISTEN_GROUP may connect (root alone if there is no such group). 0 or -errno with @err. */
int listen_at(const char *path, int *ret_fd, struct error *err);
/* Serves clients of @listen_fd with user @uid or root, one at a time, without end. Return:
 * -errno with @err. */
int serve_listener(struct server *s, int listen_fd, uid_t uid, struct error *err);
