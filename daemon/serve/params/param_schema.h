/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Schemas of parameter values, derived from params.def. Thread: any. */
#pragma once

#include "serve/params/param_parse.h"

#include <jansson.h>

/* Returns the schema of the values of @p, owned by the caller; NULL: out of memory. Not for the
 * parameter `format` of a profile. */
json_t *param_schema(const struct param *p);
