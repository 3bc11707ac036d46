/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the answer of an OTLP target: how much of an accepted body it refused. Pure; thread:
 * any. */
#pragma once

#include "base/span.h"

/* Reads an ExportProfilesServiceResponse. *ret_rejected: number of refused profiles; *ret_why: the
 * reason, points into @body, may be empty. Returns false if @body is no such message; then both are
 * untouched. */
bool partial_parse(struct span body, uint64_t *ret_rejected, struct span *ret_why);
