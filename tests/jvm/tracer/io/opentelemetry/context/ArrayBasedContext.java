// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.context;

/** As SpanContext: an array of keys and values. */
public final class ArrayBasedContext {
    public final Object[] entries;

    public ArrayBasedContext(Object... entries) {
        this.entries = entries;
    }
}
