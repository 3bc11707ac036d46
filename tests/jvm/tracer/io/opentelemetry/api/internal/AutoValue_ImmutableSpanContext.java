// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.api.internal;

import io.opentelemetry.api.trace.SpanContext;

/** As SpanContext. */
public final class AutoValue_ImmutableSpanContext implements SpanContext {
    final String traceId, spanId;

    public AutoValue_ImmutableSpanContext(String traceId, String spanId) {
        this.traceId = traceId;
        this.spanId = spanId;
    }
}
