/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* Returns the text @key of @object, borrowed; "" if there is none. */
static inline const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}
