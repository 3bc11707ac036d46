/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flamed-broker gives up before it reads its first request.
 */
#pragma once

#include "base/error.h"

/* Drops every capability that is not on the list (the bounding set too where allowed), sets
 * no_new_privs, limits and a filter of system calls. What it lacks of the list is not an error:
 * requests then say so. Call once, single-threaded. 0 or -errno. */
int broker_lockdown(struct error *err);
