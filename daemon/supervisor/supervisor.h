/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor (supervise_api.h says what it does): the process that keeps the broker and flamed
 * running when no systemd does. It reads nothing but signals.
 */
#pragma once

#include "base/error.h"

/* Runs `flamed-broker --supervise ...`. The program's exit status. */
int supervisor_main(int argc, char **argv);
