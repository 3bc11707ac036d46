/* SPDX-License-Identifier: Apache-2.0 */
/* The result of an attach, with the JVM's reply in it, as any process of the JVM's user may write
 * it.
 */
#include "attach/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = { (const char *)data, size };
    struct error err = ERROR_NULL;
    struct attach_result r;

    for (uint32_t mode = 0; mode < ATTACH_MODE_END; mode++) {
        if (attach_reply_check(bytes, mode, &err) < 0 && !err.msg[0])
            abort();
        if (attach_result_check(bytes, &r) == 0 && attach_outcome(&r, mode, &err) < 0 &&
            !err.msg[0])
            abort();
    }
    return 0;
}
