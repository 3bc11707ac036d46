/* SPDX-License-Identifier: Apache-2.0 */
#include "render/proto/push_request.h"

#include "render/proto/protobuf.h"
#include "render/proto/push.pb-c.h"

#include <sys/random.h>

#define UUID_TEXT 37

/* Makes a random UUID (version 4). */
static int uuid_new(char ret[UUID_TEXT])
{
    uint8_t b[16];

    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return -EIO;
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    snprintf(ret, UUID_TEXT, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
    return 0;
}

int push_request_add(struct buf *out, const struct push_label *labels, size_t count,
                     struct span pprof)
{
    Push__LabelPair pairs[PUSH_LABELS_MAX], *refs[PUSH_LABELS_MAX];
    Push__RawSample sample = PUSH__RAW_SAMPLE__INIT, *sample_ref = &sample;
    Push__RawProfileSeries series = PUSH__RAW_PROFILE_SERIES__INIT, *series_ref = &series;
    Push__PushRequest request = PUSH__PUSH_REQUEST__INIT;
    char id[UUID_TEXT];
    size_t n = 0;
    int r = uuid_new(id);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count && n < PUSH_LABELS_MAX; i++) {
        if (!labels[i].value || !labels[i].value[0])
            continue;
        push__label_pair__init(&pairs[n]);
        pairs[n].name = (char *)(uintptr_t)labels[i].name;
        pairs[n].value = (char *)(uintptr_t)labels[i].value;
        refs[n] = &pairs[n];
        n++;
    }
    sample.raw_profile = (ProtobufCBinaryData){ pprof.n, (uint8_t *)(uintptr_t)pprof.p };
    sample.id = id;
    series.labels = refs;
    series.n_labels = n;
    series.samples = &sample_ref;
    series.n_samples = 1;
    request.series = &series_ref;
    request.n_series = 1;
    pack_message(out, &request.base);
    return out->error;
}
