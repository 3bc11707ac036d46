/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namer: a process that runs foreign code (libiberty's demangler) over foreign bytes (the
 * symbols of targets), and can do nothing else. It is two processes. The worker demangles, with 5
 * ms of CPU time for each symbol. If that limit or a fault ends the worker, the keeper records that
 * the symbol has no name, and forks the next worker. The keeper reads nothing that a target wrote.
 */
#pragma once

#include "base/error.h"

/* The first argument of flamed when it runs as the namer; descriptor 3 is its socket. */
#define NAMER_OPTION "--namer"
#define NAMER_FD 3

/* Starts the namer: forks, and executes this program with NAMER_OPTION, so that the namer shares
 * neither memory nor its layout with flamed. *ret_fd gets the socket to it, owned by the caller.
 * Call before the sandbox and before any thread. Return: 0 or -errno with @err. */
int namer_start(int *ret_fd, struct error *err);
/* Starts the namer without an exec: for a program that lacks NAMER_OPTION. Returns the results of
 * namer_start(). */
int namer_fork(int *ret_fd, struct error *err);
/* Runs the keeper on the socket NAMER_FD, and closes all other descriptors.
 * Return: the exit status, once flamed has closed its end. */
int namer_run(void);

/* ---- namer_lockdown.c ---- */

/* Drop all rights that the keeper, and then the worker, does not need. 0 or -errno. */
int namer_lock_keeper(void);
int namer_lock_worker(void);
