/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/param_schema.h"

static json_t *schema_of_names(const struct param *p)
{
    json_t *list = json_array();

    for (size_t i = 0; i < p->name_count; i++)
        json_array_append_new(list, json_string(p->names[i].name));
    if (json_array_size(list) == p->name_count && p->repeatable)
        return json_pack("{s:s, s:{s:s, s:o}, s:i, s:b}", "type", "array", "items", "type",
                         "string", "enum", list, "maxItems", (int)p->name_count, "uniqueItems", 1);
    if (json_array_size(list) == p->name_count)
        return json_pack("{s:s, s:o, s:s}", "type", "string", "enum", list, "default",
                         p->names[0].name);
    json_decref(list);
    return NULL;
}

static json_t *schema_of_number(const struct param *p)
{
    json_t *schema = json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
                               (json_int_t)p->least, "maximum", (json_int_t)p->most);

    if (!p->usual || json_object_set_new(schema, "default", json_integer(p->usual)) == 0)
        return schema;
    json_decref(schema);
    return NULL;
}

json_t *param_schema(const struct param *p)
{
    if (p->names)
        return schema_of_names(p);
    if (p->schema && p->repeatable)
        return json_pack("{s:s, s:o, s:i}", "type", "array", "items",
                         json_loads(p->schema, 0, NULL), "maxItems", MATCH_PATTERNS_MAX);
    if (p->schema)
        return json_loads(p->schema, 0, NULL);
    if (p->parse == param_bool)
        return json_pack("{s:s, s:[i, i], s:i}", "type", "integer", "enum", 0, 1, "default",
                         p->negate);
    if (p->parse == param_range || p->parse == param_at)
        return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
    if (p->parse == param_text)
        return json_pack("{s:s, s:i, s:i}", "type", "string", "minLength", 1, "maxLength",
                         PARAMS_TEXT_MAX);
    return schema_of_number(p);
}
