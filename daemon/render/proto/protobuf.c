/* SPDX-License-Identifier: Apache-2.0 */
#include "render/proto/protobuf.h"

#define PACK_LENGTH_DELIMITED 2 /* the wire type of an embedded message */

struct pack_buffer {
    ProtobufCBuffer base;
    struct buf *to;
};

static void pack_append(ProtobufCBuffer *buffer, size_t n, const uint8_t *data)
{
    buf_add(((struct pack_buffer *)buffer)->to, data, n);
}

void pack_message(struct buf *out, const ProtobufCMessage *m)
{
    struct pack_buffer to = { .base.append = pack_append, .to = out };

    protobuf_c_message_pack_to_buffer(m, &to.base);
}

void pack_nested(struct buf *out, unsigned number, struct span body)
{
    size_t n = body.n;

    buf_add_char(out, (char)(number << 3 | PACK_LENGTH_DELIMITED));
    for (; n >= 0x80; n >>= 7)
        buf_add_char(out, (char)(n | 0x80));
    buf_add_char(out, (char)n);
    buf_add_span(out, body);
}
