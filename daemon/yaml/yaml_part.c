/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml_part.h"

#define DEPTH_MAX 16 /* libyaml's time grows with the square of the depth */

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

/* Reports the parser's error. */
static int refuse_text(const struct yaml_part *y, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    return error_set(y->err, -EINVAL, "%.128s, line %zu: this is no YAML: %s", y->file,
                     parser->problem_mark.line + 1, parser->problem ? parser->problem : "?");
}

/* Refuses documents that the tree cannot represent or that make it too large: aliases, a second
 * document, deep nesting. */
static int check_events(struct yaml_part *y, yaml_parser_t *parser)
{
    yaml_event_type_t type = YAML_NO_EVENT;
    unsigned documents = 0, depth = 0;
    yaml_event_t event;
    int r = 0;

    while (r == 0 && type != YAML_STREAM_END_EVENT) {
        size_t line;

        if (!yaml_parser_parse(parser, &event))
            return refuse_text(y, parser);
        type = event.type;
        line = event.start_mark.line + 1;
        yaml_event_delete(&event);
        if (type == YAML_ALIAS_EVENT) {
            error_remedy(y->err, "write its value there");
            r = error_set(y->err, -EINVAL, "%.128s, line %zu: an alias (*name) is not taken",
                          y->file, line);
        } else if (type == YAML_DOCUMENT_START_EVENT && documents++) {
            error_remedy(y->err, "put all of it into one");
            r = error_set(y->err, -EINVAL, "%.128s, line %zu: a second YAML document begins",
                          y->file, line);
        } else if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT) {
            if (++depth > DEPTH_MAX)
                r = error_set(y->err, -EINVAL, "%.128s, line %zu: nested deeper than %d levels",
                              y->file, line, DEPTH_MAX);
        } else if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT) {
            depth--;
        }
    }
    return r;
}

static int load(struct yaml_part *y, yaml_parser_t *parser)
{
    return yaml_parser_load(parser, &y->doc) ? 0 : refuse_text(y, parser);
}

/* Runs @fn with a new parser of @text. */
static int parse(struct yaml_part *y, struct span text,
                 int (*fn)(struct yaml_part *y, yaml_parser_t *parser))
{
    yaml_parser_t parser;
    int r;

    if (!yaml_parser_initialize(&parser))
        return -ENOMEM;
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
    r = fn(y, &parser);
    yaml_parser_delete(&parser);
    return r;
}

int yaml_part_read(struct yaml_part *y, struct span text, yaml_part_fn fn, void *cookie)
{
    int r = parse(y, text, check_events) ?: parse(y, text, load);

    if (r == 0) {
        r = fn(y, cookie);
        yaml_document_delete(&y->doc);
    }
    return r == -ENOMEM ? error_set(y->err, r, "out of memory") : r;
}

static int refuse_twice(const struct yaml_part *y, const yaml_node_t *key)
{
    struct span name = yaml_part_text(key);
    char show[YAML_PART_SHOWN];

    name.n = span_find(name, ':'); /* a value, perhaps a password, may follow */
    return error_set(y->err, -EINVAL, "%.128s, line %u: %s is given twice", y->file,
                     yaml_part_line(key), span_copy(name, show, sizeof(show)));
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
            return refuse_twice(y, key);
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

/* Gets the root of the document; NULL: empty. Return: 0. */
static int find_root(struct yaml_part *y, const yaml_node_t **ret)
{
    const yaml_node_t *root = yaml_document_get_root_node(&y->doc);
    bool empty = !root || (root->type == YAML_SCALAR_NODE && yaml_part_text(root).n == 0);

    *ret = empty ? NULL : root;
    return 0;
}

static int read_mapping(struct yaml_part *y, void *cookie)
{
    struct mapping_read *m = cookie;
    const char *name = m->name ? m->name : "the file";
    const yaml_node_t *n;
    int r = m->name ? yaml_part_find(y, m->name, &n) : find_root(y, &n);

    if (r < 0 || !n)
        return r;
    m->found = true;
    if (n->type != YAML_MAPPING_NODE && !m->name) /* without @name the file is one of passwords, so
                                                   * the message shows no value */
        return error_set(y->err, -EINVAL,
                         "%.128s, line %u: the file has to be a mapping (KEY: VALUE)", y->file,
                         yaml_part_line(n));
    if (n->type != YAML_MAPPING_NODE)
        return yaml_part_refuse(y, n, "", name, "a mapping");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start;
         r == 0 && p < n->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);

        bool twice = is_twice(y, n, p, yaml_part_text(key));

        if (twice && !m->name)
            return refuse_twice(y, key);
        if (key->type != YAML_SCALAR_NODE || twice)
            return yaml_part_refuse(y, key, "", name, "each key once");
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
