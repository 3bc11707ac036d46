/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a process in the form of Datadog's tracer, any bytes: a broken map gives none. Another
 * map gives only words that name a service, each ended. */
#include "discover/service.h"
#include "discover/tracer_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct span words, word;
    struct service s;

    buf_init(&out, TRACER_INFO_BYTES_MAX);
    if (tracer_info_attributes((struct span){ (const char *)data, size }, &out) < 0 && out.n)
        abort();
    words = buf_span(&out);
    if (out.error || (words.n && words.p[words.n - 1] != '\0'))
        abort();
    while (words.n && span_take_until(&words, '\0', &word)) {
        if (!span_starts_with(word, "service.") &&
            !span_starts_with(word, "deployment.environment.name="))
            abort();
        if (word.n > TRACER_INFO_VALUE_BYTES_MAX + 64)
            abort();
    }
    service_of_words(buf_span(&out), SPAN_NULL, SPAN_NULL, &s);
    if ((s.source == SERVICE_CONTEXT) != (s.name[0] != '\0'))
        abort();
    return 0;
}
