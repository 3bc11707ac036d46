/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a JVM as the history keeps them, and what differs between two JVMs of a service.
 * Keeps values only of -X and -XX options, and only numbers and plain words. A path, a command or a
 * property may be a secret. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"

#define JVM_OPTIONS_MAX_BYTES 2048 /* bytes kept for a JVM; with more, none are kept */

/* Appends the options that @args begins with, one a line. @args: words separated by blanks, as in
 * struct process. */
void jvm_options_of_args(struct span args, struct buf *out);
/* Appends the differences of options kept: "options -Xmx512m -> -Xmx256m, new -Drules.tenant,
 * without -XX:+UseG1GC". Differences are never cut: those beyond four or beyond @out's limit are
 * counted (", and 2 more"). Appends nothing if there is no difference, or if a JVM has more than
 * 256 options. */
void jvm_options_difference(struct span before, struct span now, struct buf *out);
