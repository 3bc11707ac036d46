/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Prometheus text. Each appends to @out; on lack of room that has the error. Thread: any.
 */
#pragma once

#include "base/buf.h"
#include "discover/discover.h"

/* Appends the two lines before a family; @type: "gauge", "counter". */
void metric_head(struct buf *out, const char *name, const char *type, const char *help);
/* Appends the number, and the end of the line. */
void metric_value(struct buf *out, double value);
/* Does the same of a time, in seconds. */
void metric_seconds(struct buf *out, uint64_t ns);
/* Appends a family of one line without labels. */
void metric(struct buf *out, const char *name, const char *type, const char *help, double value);
/* One label with its value, escaped. */
void metric_label(struct buf *out, const char *name, const char *value);
/* Appends what says which JVM @p is: pid, main, container, pod, namespace, service. Thread: the
 * engine's. */
void metric_jvm_labels(struct buf *out, const struct process *p);
