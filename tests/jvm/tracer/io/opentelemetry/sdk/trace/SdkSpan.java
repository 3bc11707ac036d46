// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.sdk.trace;

import io.opentelemetry.api.trace.SpanContext;

/** As SpanContext. */
public final class SdkSpan {
    final SpanContext context;
    private String name;

    public SdkSpan(SpanContext context, String name) {
        this.context = context;
        this.name = name;
    }

    public void rename(String name) {
        this.name = name;
    }
}
