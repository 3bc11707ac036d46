/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readiness for systemd. sd_notify(3) opens a socket at each call, which the sandbox forbids: so
 * the socket is opened once, before. Thread: the main one.
 */
#pragma once

#include "base/macros.h"

/* Connects to $NOTIFY_SOCKET. Returns an fd that the caller owns; -1: the socket has no
 * listener. */
int notify_open(void);
/* Sends "READY=1" and the like. Does nothing where @fd is -1. */
void notify_send(int fd, const char *state);
