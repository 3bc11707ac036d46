// SPDX-License-Identifier: Apache-2.0
package io.opentelemetry.api.trace;

/** What a test's tracer has under a name of OpenTelemetry's: only names and types of fields are the same. */
public interface SpanContext {
}
