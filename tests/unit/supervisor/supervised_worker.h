/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the real supervisor starts in place of flamed: it does what flamed's main does, and notes in
 * the store what it was given.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Is the worker, of a line that begins with --worker. Leaves the note "worker", and "hup" after a
 * hangup. Return: its exit status; 50 and above: something is missing. */
int supervised_worker(int argc, char **argv);
/* Returns the number behind "@name:" in the status of @pid. Exits with 51 if there is none. */
uint64_t status_field(pid_t pid, const char *name, int base);
