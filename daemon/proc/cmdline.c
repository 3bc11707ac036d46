/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/cmdline: arguments with a NUL after each; a process may have written over them, without
 * one. */
#include "proc/proc.h"

bool cmdline_take(struct span *text, struct span *ret)
{
    return span_take_until(text, '\0', ret);
}
