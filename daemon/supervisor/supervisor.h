/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor (supervise_api.h): it keeps the broker and flamed running where no systemd does.
 * Its only input is signals.
 */
#pragma once

#include "base/error.h"

/* Runs `flamed-broker --supervise ...`. Return: the program's exit status. */
int supervisor_main(int argc, char **argv);
