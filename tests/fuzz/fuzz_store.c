/* SPDX-License-Identifier: Apache-2.0 */
/* The store's file: additions to an epoch, and samples that point into it. The first two bytes
 * divide the input; bit 0 of the third: the blob is compressed. */
#include "base/cleanup.h"
#include "store/blob.h"
#include "store/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 }, *p = NULL;
    _cleanup_buf_ struct buf plain = BUF_NULL, again = BUF_NULL;
    struct dictionary *e = NULL;
    struct span additions, samples;
    size_t split;

    if (size < 3)
        return 0;
    split = (size_t)data[0] | (size_t)data[1] << 8;
    split = MIN(split, size - 3);
    additions = (struct span){ (const char *)data + 3, split };
    samples = (struct span){ (const char *)data + 3 + split, size - 3 - split };
    buf_init(&plain, (size_t)1 << 20);
    if (data[2] & 1) {
        if (blob_decompress(samples, &plain) < 0)
            return 0;
        samples = buf_span(&plain);
    }
    if (dictionary_new(1, &e) < 0)
        return 0;
    if (dictionary_replay(e, additions) == 0 && samples_decode(e, samples, &meta, &p) == 0) {
        buf_init(&again, (size_t)4 << 20);
        if (samples_encode(e, p, &again) < 0) /* a blob that was read can be written again */
            abort();
        if (dictionary_has_additions(e))
            dictionary_additions(e, &again);
        profile_unref(p);
    }
    dictionary_free(e);
    return 0;
}
