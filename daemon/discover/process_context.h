/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context that a tracer publishes about its process (OpenTelemetry's OTEP 4719). A mapping with
 * the name OTEL_CTX begins with a header of fixed size. It points to a protobuf message with
 * attributes. The process, which may be hostile, writes both. A message with any error yields
 * nothing. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"
#include "hotspot/thread_variable.h"

#define PROCESS_CONTEXT_HEADER_BYTES ((size_t)32)
#define PROCESS_CONTEXT_BYTES_MAX ((size_t)64 << 10) /* bytes of a message */
#define PROCESS_CONTEXT_ATTRIBUTES_MAX 256
#define PROCESS_CONTEXT_VALUE_MAX 1024 /* bytes of a value; longer values are ignored */

/* Returns whether a mapping with the path @path may have a header at its beginning. */
bool process_context_path(struct span path);

struct process_context_header {
    uint64_t published_ns; /* changes with the message; 0: it is being changed */
    uint64_t address;      /* of the message */
    size_t bytes;          /* size of the message, up to PROCESS_CONTEXT_BYTES_MAX */
};
/* Reads the header @bytes. Return: 0; -EBADMSG: the bytes are no header, or it has another version
 * or too long a message. */
int process_context_header(const uint8_t bytes[PROCESS_CONTEXT_HEADER_BYTES],
                           struct process_context_header *ret);

/* Appends the attributes of @message that name a service, as "service.name=shop", each with a NUL
 * behind it. Leaves out names that a tracer made up as default, and the version from Datadog's
 * tracer, which is Java's. Return: 0; -EBADMSG, -E2BIG: nothing was appended. */
int process_context_attributes(struct span message, struct buf *out);

/* Appends those of @words that name a service. @words: texts like "service.name=shop", each with a
 * NUL behind it. */
void process_context_words(struct span words, struct buf *out);

/* Sets known, text_count and texts in @ret, which is empty, from what @message says about the
 * records of threads (OTEP 4947). If @message says nothing about them, or names another form, known
 * stays false. Returns 0 or -EBADMSG. */
int process_context_record(struct span message, struct thread_record *ret);
