/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of an engine, read as flamed-push does. */
#include "base/macros.h"
#include "push/partial.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    struct span why = SPAN_NULL;
    uint64_t rejected = 0;

    if (!partial_parse((struct span){ p, size }, &rejected, &why))
        return 0;
    if (rejected > INT64_MAX || (why.n && (why.p < p || why.p + why.n > p + size)))
        abort();
    return 0;
}
