/* SPDX-License-Identifier: Apache-2.0 */
/* demangle(): the library ends, and its text is bounded. */
#include "symbolize/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, (size_t)1 << 20);
    demangle((struct span){ (const char *)data, size }, &out);
    if (!out.error && out.n > MAX(size, (size_t)DEMANGLE_OUTPUT_MAX))
        abort();
    return 0;
}
