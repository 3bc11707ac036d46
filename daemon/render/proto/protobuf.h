/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf messages into buffers. A message is the concatenation of its parts, so a large one is
 * packed piece by piece. Only the present piece is in memory as structures. Private to
 * render/proto/.
 */
#pragma once

#include "base/buf.h"

#include <protobuf-c/protobuf-c.h>

/* Appends a message, or a part of one. */
void pack_message(struct buf *out, const ProtobufCMessage *m);
/* Appends @body as the field @number (1..15) of the message that @out holds. */
void pack_nested(struct buf *out, unsigned number, struct span body);
