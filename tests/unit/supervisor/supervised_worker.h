/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that the real supervisor starts in place of flamed. It acts like flamed's main(), and
 * notes in the store what it was given.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Runs the worker for a command line that begins with --worker. Leaves the note "worker", and "hup"
 * after a hangup. Returns its exit status; 50 and above: a part is missing. */
int supervised_worker(int argc, char **argv);
/* Returns the number behind "@name:" in the status of @pid. Exits with 51 without such a line. */
uint64_t status_field(pid_t pid, const char *name, int base);
