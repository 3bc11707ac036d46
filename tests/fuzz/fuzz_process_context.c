/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's published context, any bytes: as a header, as a message, and as the source of a
 * service. Only attributes that name a service or its source code are returned, each ended, and
 * none of a broken message.
 */
#include "discover/process_context.h"
#include "discover/service.h"
#include "unwind/context_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(struct span words)
{
    struct span word;

    if (words.n && words.p[words.n - 1] != '\0')
        abort();
    while (words.n && span_take_until(&words, '\0', &word)) {
        if (!span_starts_with(word, "service.") &&
            !span_starts_with(word, "deployment.environment") &&
            !span_starts_with(word, "vcs.repository.url.full=") &&
            !span_starts_with(word, "vcs.ref.head.revision="))
            abort();
        if (word.n > PROCESS_CONTEXT_VALUE_MAX + 64)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct process_context_header header;
    struct thread_record record = { 0 };
    struct context_path path;
    struct service s;

    if (size >= PROCESS_CONTEXT_HEADER_BYTES && process_context_header(data, &header) == 0 &&
        header.bytes > PROCESS_CONTEXT_BYTES_MAX)
        abort();
    buf_init(&out, PROCESS_CONTEXT_BYTES_MAX);
    if (process_context_attributes((struct span){ (const char *)data, size }, &out) < 0 && out.n)
        abort();
    if (out.error)
        abort();
    check_words(buf_span(&out));
    process_context_record((struct span){ (const char *)data, size }, &record);
    if (record.text_count > THREAD_RECORD_TEXTS_MAX || (record.text_count && !record.known))
        abort();
    thread_record_path(&record, &path);
    if (!context_path_valid(&path))
        abort();
    service_of_words(buf_span(&out), SPAN_NULL, SPAN_NULL, &s);
    if ((s.source == SERVICE_CONTEXT) != (s.name[0] != '\0'))
        abort();
    return 0;
}
