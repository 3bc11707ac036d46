/* SPDX-License-Identifier: Apache-2.0 */
/* hsperfdata: what is found lies in the file. */
#include "hotspot/hsperfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const KEYS[] = {
        "sun.rt.javaCommand",     "java.rt.vmArgs", "sun.rt.createVmBeginTime",
        "sun.rt.createVmEndTime", "no.such.key",    ""
    };
    struct span file = { (const char *)data, size }, s;
    int64_t v;

    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (hsperfdata_string(file, KEYS[i], &s) && s.n &&
            (s.p < file.p || s.p + s.n > file.p + file.n))
            abort();
        hsperfdata_long(file, KEYS[i], &v);
    }
    return 0;
}
