/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes and signatures: bounded growth, no slash left in a class. */
#include "symbolize/java_text.h"

#include "profile/merged_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_buf_ struct buf name = BUF_NULL, signature = BUF_NULL, merged = BUF_NULL;
    struct span in = { (const char *)data, size };

    buf_init(&name, (size_t)1 << 20);
    buf_init(&signature, (size_t)16 << 20);
    java_class_text(in, &name);
    if (!name.error && (name.n > size || span_find(buf_span(&name), '/') < name.n))
        abort();
    buf_init(&merged, (size_t)1 << 20);
    merged_class(in, &merged);
    if (merged.n > size)
        abort();
    buf_clear(&merged);
    merged_method(in, &merged);
    if (merged.n > size)
        abort();
    if (java_stub_text(in).n > size)
        abort();
    java_signature_text(in, &signature);
    if (!signature.error && !signature.n && size)
        abort();
    return 0;
}
