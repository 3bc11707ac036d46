/* SPDX-License-Identifier: Apache-2.0 */
/* The symbolizer over any source of files: what the door makes of the broker, and tests of this
 * machine. */
#pragma once

#include "symbolize/files.h"
#include "symbolize/symbolize.h"

/* As symbolizer_new(); *files is copied. */
int symbolizer_new_from(const struct symbol_files *files, struct frame_table *frames,
                        const struct symbolizer_opts *opts, struct symbolizer **ret,
                        struct error *err);
