// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.context;

/** As SpanContext. */
public final class ThreadLocalContextStorage {
    static final ThreadLocal<ArrayBasedContext> THREAD_LOCAL_STORAGE = new ThreadLocal<>();

    public static void attach(ArrayBasedContext context) {
        ArrayBasedContext old = THREAD_LOCAL_STORAGE.get(); // as a tracer does, which gives it back later

        if (old != context)
            THREAD_LOCAL_STORAGE.set(context);
    }
}
