/* SPDX-License-Identifier: Apache-2.0 */
#include "access/yaml_top.h"

#define SHOWN 64 /* bytes of a value in a sentence */

struct span yaml_top_text(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE
               ? (struct span){ (const char *)n->data.scalar.value, n->data.scalar.length }
               : SPAN_NULL;
}

int yaml_top_refuse(struct yaml_top *y, const yaml_node_t *at, const char *key, const char *takes)
{
    char value[SHOWN];

    span_copy(y->secret ? SPAN("...") : yaml_top_text(at), value, sizeof(value));
    return error_set(y->err, -EINVAL, "%.128s, line %u: %s does not take '%s': it takes %s",
                     y->file, (unsigned)at->start_mark.line + 1, key, value, takes);
}

static bool is_twice(struct yaml_top *y, const yaml_node_t *mapping, const yaml_node_pair_t *until,
                     struct span key)
{
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < until; p++) {
        if (span_eq(yaml_top_text(yaml_document_get_node(&y->doc, p->key)), key))
            return true;
    }
    return false;
}

static int read_mapping(struct yaml_top *y, const yaml_node_t *n, const char *name, yaml_top_fn fn,
                        void *cookie)
{
    if (n->type != YAML_MAPPING_NODE)
        return yaml_top_refuse(y, n, name, "a mapping");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);
        int r;

        if (key->type != YAML_SCALAR_NODE || is_twice(y, n, p, yaml_top_text(key)))
            return yaml_top_refuse(y, key, name, "each key once");
        r = fn(y, key, yaml_document_get_node(&y->doc, p->value), cookie);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_top(struct yaml_top *y, const char *name, yaml_top_fn fn, void *cookie,
                    bool *ret_found)
{
    const yaml_node_t *root = yaml_document_get_root_node(&y->doc);

    if (!root || root->type != YAML_MAPPING_NODE)
        return 0; /* what reads the other options says what is wrong with it */
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);
        int r;

        if (!span_eq_str(yaml_top_text(key), name))
            continue;
        if (*ret_found)
            return error_set(y->err, -EINVAL, "%.128s, line %u: %s is given twice", y->file,
                             (unsigned)key->start_mark.line + 1, name);
        *ret_found = true;
        r = read_mapping(y, yaml_document_get_node(&y->doc, p->value), name, fn, cookie);
        if (r < 0)
            return r;
    }
    return 0;
}

int yaml_top_mapping(struct yaml_top *y, struct span text, const char *name, yaml_top_fn fn,
                     void *cookie, bool *ret_found)
{
    yaml_parser_t parser;
    bool found = false;
    int r;

    if (!yaml_parser_initialize(&parser))
        return error_set(y->err, -ENOMEM, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    if (yaml_parser_load(&parser, &y->doc)) {
        r = read_top(y, name, fn, cookie, &found);
        yaml_document_delete(&y->doc);
    } else {
        r = error_set(y->err, -EINVAL, "%.128s, line %zu: this is no YAML: %s", y->file,
                      parser.problem_mark.line + 1, parser.problem ? parser.problem : "?");
    }
    yaml_parser_delete(&parser);
    *ret_found = found;
    return r;
}
