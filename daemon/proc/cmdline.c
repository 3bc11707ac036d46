/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/cmdline: arguments, each followed by a NUL. A process may have overwritten them, even
 * the last NUL. */
#include "proc/proc.h"

bool cmdline_take(struct span *text, struct span *ret)
{
    return span_take_until(text, '\0', ret);
}
