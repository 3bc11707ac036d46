/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the configuration file part by part: options, rules, users, TLS. Built on libyaml's tree:
 * its nodes know their lines for error sentences. Thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "request/matcher.h"

#include <yaml.h>

#define YAML_PART_SHOWN 64    /* bytes of a value in a sentence, with NUL */
#define YAML_PART_NAME_MAX 63 /* of a rule */

struct yaml_part {
    const char *file; /* named in error sentences only */
    struct error *err;
    const char *section; /* prefix of sentences, such as "access: "; NULL: none */
    bool secret;         /* keys and values may be passwords: sentences omit them */
    yaml_document_t doc;
};

typedef int (*yaml_part_fn)(struct yaml_part *y, void *cookie);
/* Parses @text and calls @fn with the document in y->doc. Return: the result of @fn; -EINVAL with a
 * sentence: malformed, an alias, or a second document; -ENOMEM. */
int yaml_part_read(struct yaml_part *y, struct span text, yaml_part_fn fn, void *cookie);
/* Gets the value of the top-level key @name. *ret NULL: no such key, or the document is not a
 * mapping, which the reader of the options reports. Return: 0; -EINVAL with a sentence: the key
 * occurs twice. */
int yaml_part_find(struct yaml_part *y, const char *name, const yaml_node_t **ret);

/* Reads one key of a mapping. Return: 0, or -errno with y->err. */
typedef int (*yaml_part_key_fn)(struct yaml_part *y, const yaml_node_t *key,
                                const yaml_node_t *value, void *cookie);
/* Calls @fn for each key of the mapping @name in @text, or of the whole document if @name is NULL.
 * Refuses duplicate keys. Return: 0 and *ret_found; -EINVAL with a sentence; the error of @fn. */
int yaml_part_mapping(struct yaml_part *y, struct span text, const char *name, yaml_part_key_fn fn,
                      void *cookie, bool *ret_found);

/* Returns the text of a scalar, SPAN_NULL for other nodes. Points into y->doc. */
struct span yaml_part_text(const yaml_node_t *n);
/* Returns the line of @n, counted from 1. */
unsigned yaml_part_line(const yaml_node_t *n);
/* Formats @n for a sentence into @buf, secrets as "...". Return: @buf, or a literal. */
const char *yaml_part_shown(const struct yaml_part *y, const yaml_node_t *n,
                            char buf[YAML_PART_SHOWN]);
/* Sets "FILE, line N: SECTION RULE: KEY does not take 'VALUE': it takes TAKES". @rule "" is
 * omitted.
 * Return: -EINVAL. */
int yaml_part_refuse(struct yaml_part *y, const yaml_node_t *at, const char *rule, const char *key,
                     const char *takes);

/* Copies a rule's name. False: not a valid name. */
bool yaml_part_take_name(const yaml_node_t *n, char ret[YAML_PART_NAME_MAX + 1]);
/* Appends the matchers in @n, a text or a list of texts, to @list. @example: shown in the error.
 * Return: 0; -EINVAL with a sentence; -ENOMEM. */
int yaml_part_take_matchers(struct yaml_part *y, const yaml_node_t *n, const char *rule,
                            const char *example, struct matcher_list *list);
