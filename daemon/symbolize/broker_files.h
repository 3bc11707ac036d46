/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A symbolizer over any source of files: the broker, or, in tests, this machine's files.
 */
#pragma once

#include "symbolize/files.h"
#include "symbolize/symbolize.h"

/* Makes a symbolizer like symbolizer_new(), with a copy of *files. */
int symbolizer_new_from(const struct symbol_files *files, struct frame_table *frames,
                        const struct symbolizer_opts *opts, struct symbolizer **ret,
                        struct error *err);
