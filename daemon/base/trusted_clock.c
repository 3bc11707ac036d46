/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trusted_clock.h"

uint64_t steady_now(struct steady *s, uint64_t monotonic_ns, uint64_t real_ns)
{
    uint64_t offset = real_ns - monotonic_ns, ahead = offset - s->offset_ns,
             back = s->offset_ns - offset;

    if (!s->looked || MIN(ahead, back) > STEADY_JUMP_NS) /* after a boot it may be set soon */
        s->jumped_ns = MAX(monotonic_ns, UINT64_C(1));
    s->offset_ns = offset;
    s->looked = true;
    return s->jumped_ns && monotonic_ns - s->jumped_ns < STEADY_AFTER_NS ? 0 : real_ns;
}
