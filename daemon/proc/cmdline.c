/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/cmdline: arguments with a NUL after each. A process may have overwritten them, also the
 * last NUL. */
#include "proc/proc.h"

bool cmdline_take(struct span *text, struct span *ret)
{
    return span_take_until(text, '\0', ret);
}
