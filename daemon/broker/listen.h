/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How clients come to the broker: one connected socket, or a listening one and one client at a
 * time.
 */
#pragma once

#include "broker/server.h"

/* Serves the connected socket @fd (borrowed) until its peer leaves. 0 or -errno. */
int serve_connection(struct server *s, int fd);

/* The listening socket that systemd passed (LISTEN_FDS), or -1. */
int listen_inherited(void);
/* Makes the SEQPACKET socket @path, replacing a stale one, for root and group @gid. 0 or -errno. */
int listen_at(const char *path, gid_t gid, int *ret_fd, struct error *err);
/* Serves clients of @listen_fd whose user is @uid or root, one at a time, for ever. -errno. */
int serve_listener(struct server *s, int listen_fd, uid_t uid, struct error *err);
