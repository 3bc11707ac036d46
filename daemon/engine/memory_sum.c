/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the memory that flamed takes outside of captures and requests. docs/limits.md has the
 * sum. */
#include "base/reading_turn.h"
#include "engine/engine_impl.h"

void engine_memory_tick(struct captures *captures, const struct memory_budget *memory,
                        const struct frame_table *names)
{
    capture_memory_tick(captures, memory->kept.used + frame_table_uncharged(names) +
                                      (reading_turn_taken() ? READING_MAX_BYTES : 0));
}
