/* SPDX-License-Identifier: Apache-2.0 */
#include "api/service_entry.h"

#define SERVICES_TEXTS_MAX 256 /* versions or environments of one service */

void service_add_text(json_t *entry, const char *key, const char *text)
{
    json_t *list = json_object_get(entry, key);

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
            return;
    }
    if (text[0] && json_array_size(list) < SERVICES_TEXTS_MAX)
        json_array_append_new(list, json_string(text));
}

void service_keep_time(json_t *entry, const char *key, uint64_t time_ns, bool earlier)
{
    json_t *now = json_time(time_ns);
    const char *before = json_string_value(json_object_get(entry, key)),
               *text = json_string_value(now);
    int order = before && text ? strcmp(text, before) : 0; /* in UTC, texts sort by time */

    if (text && (!before || (earlier ? order < 0 : order > 0)))
        json_object_set_new(entry, key, now);
    else
        json_decref(now);
}
