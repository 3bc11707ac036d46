/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes and signatures: bounded growth, no slash left in a class. */
#include "symbolize/java_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_buf_ struct buf name = BUF_NULL, signature = BUF_NULL;
    struct span in = { (const char *)data, size };

    buf_init(&name, (size_t)1 << 20);
    buf_init(&signature, (size_t)16 << 20);
    java_class_text(in, &name);
    if (!name.error && (name.n > size || span_find(buf_span(&name), '/') < name.n))
        abort();
    java_signature_text(in, &signature);
    if (!signature.error && !signature.n && size)
        abort();
    return 0;
}
