/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml_part.h"

struct span yaml_part_text(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE
               ? (struct span){ (const char *)n->data.scalar.value, n->data.scalar.length }
               : SPAN_NULL;
}

unsigned yaml_part_line(const yaml_node_t *n)
{
    return (unsigned)n->start_mark.line + 1;
}

const char *yaml_part_shown(const struct yaml_part *y, const yaml_node_t *n,
                            char buf[YAML_PART_SHOWN])
{
    if (n->type == YAML_SCALAR_NODE || y->secret)
        return span_copy(y->secret ? SPAN("...") : yaml_part_text(n), buf, YAML_PART_SHOWN);
    return n->type == YAML_SEQUENCE_NODE ? "a list" : "a mapping";
}

int yaml_part_refuse(struct yaml_part *y, const yaml_node_t *at, const char *rule, const char *key,
                     const char *takes)
{
    char value[YAML_PART_SHOWN];

    return error_set(y->err, -EINVAL, "%.128s, line %u: %s%s%s%s does not take '%s': it takes %s",
                     y->file, yaml_part_line(at), y->section ? y->section : "", rule,
                     rule[0] ? ": " : "", key, yaml_part_shown(y, at, value), takes);
}

int yaml_part_read(struct yaml_part *y, struct span text, yaml_part_fn fn, void *cookie)
{
    yaml_parser_t parser;
    int r = -ENOMEM;

    if (!yaml_parser_initialize(&parser))
        return error_set(y->err, r, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    if (yaml_parser_load(&parser, &y->doc)) {
        r = fn(y, cookie);
        yaml_document_delete(&y->doc);
    } else if (parser.error != YAML_MEMORY_ERROR) {
        r = error_set(y->err, -EINVAL, "%.128s, line %zu: this is no YAML: %s", y->file,
                      parser.problem_mark.line + 1, parser.problem ? parser.problem : "?");
    }
    yaml_parser_delete(&parser);
    return r == -ENOMEM ? error_set(y->err, r, "out of memory") : r;
}

int yaml_part_find(struct yaml_part *y, const char *name, const yaml_node_t **ret)
{
    const yaml_node_t *root = yaml_document_get_root_node(&y->doc);

    *ret = NULL;
    if (!root || root->type != YAML_MAPPING_NODE)
        return 0;
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);

        if (!span_eq_str(yaml_part_text(key), name))
            continue;
        if (*ret)
            return error_set(y->err, -EINVAL, "%.128s, line %u: %s is given twice", y->file,
                             yaml_part_line(key), name);
        *ret = yaml_document_get_node(&y->doc, p->value);
    }
    return 0;
}

/* ---- a mapping, key by key ---- */

struct mapping_read {
    const char *name;
    yaml_part_key_fn fn;
    void *cookie;
    bool found;
};

static bool is_twice(struct yaml_part *y, const yaml_node_t *mapping, const yaml_node_pair_t *until,
                     struct span key)
{
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < until; p++) {
        if (span_eq(yaml_part_text(yaml_document_get_node(&y->doc, p->key)), key))
            return true;
    }
    return false;
}

static int read_mapping(struct yaml_part *y, void *cookie)
{
    struct mapping_read *m = cookie;
    const yaml_node_t *n;
    int r = yaml_part_find(y, m->name, &n);

    if (r < 0 || !n)
        return r;
    m->found = true;
    if (n->type != YAML_MAPPING_NODE)
        return yaml_part_refuse(y, n, "", m->name, "a mapping");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
         r == 0 && p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);

        if (key->type != YAML_SCALAR_NODE || is_twice(y, n, p, yaml_part_text(key)))
            return yaml_part_refuse(y, key, "", m->name, "each key once");
        r = m->fn(y, key, yaml_document_get_node(&y->doc, p->value), m->cookie);
    }
    return r;
}

int yaml_part_mapping(struct yaml_part *y, struct span text, const char *name, yaml_part_key_fn fn,
                      void *cookie, bool *ret_found)
{
    struct mapping_read m = { .name = name, .fn = fn, .cookie = cookie };
    int r = yaml_part_read(y, text, read_mapping, &m);

    *ret_found = m.found;
    return r;
}

/* ---- values of rules ---- */

bool yaml_part_take_name(const yaml_node_t *n, char ret[YAML_PART_NAME_MAX + 1])
{
    struct span s = yaml_part_text(n);
    bool good = s.n >= 1 && s.n <= YAML_PART_NAME_MAX;

    for (size_t i = 0; good && i < s.n; i++)
        good =
            (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-';
    if (good)
        span_copy(s, ret, YAML_PART_NAME_MAX + 1);
    return good;
}

static int take_matcher(struct yaml_part *y, const yaml_node_t *n, const char *rule,
                        const char *example, struct matcher_list *list)
{
    struct error why = ERROR_NULL;
    char takes[128];
    int r;

    if (n->type != YAML_SCALAR_NODE) {
        snprintf(takes, sizeof(takes), "texts such as %s, in YAML within single quotes", example);
        return yaml_part_refuse(y, n, rule, "match", takes);
    }
    r = matchers_parse(yaml_part_text(n), list, &why);
    if (r != -EINVAL)
        return r;
    return error_set(y->err, r, "%.128s, line %u: %s%s%smatch: %s", y->file, yaml_part_line(n),
                     y->section ? y->section : "", rule, rule[0] ? ": " : "", why.msg);
}

int yaml_part_take_matchers(struct yaml_part *y, const yaml_node_t *n, const char *rule,
                            const char *example, struct matcher_list *list)
{
    int r = 0;

    if (n->type != YAML_SEQUENCE_NODE)
        return take_matcher(y, n, rule, example, list);
    for (const yaml_node_item_t *i = n->data.sequence.items.start;
         r == 0 && i < n->data.sequence.items.top; i++)
        r = take_matcher(y, yaml_document_get_node(&y->doc, *i), rule, example, list);
    return r;
}
