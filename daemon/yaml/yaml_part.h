/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the configuration file part by part: options, rules, users, TLS. Uses libyaml's tree, which
 * has the lines of nodes for error messages. Thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "request/matcher.h"

#include <yaml.h>

#define YAML_PART_SHOWN 64    /* bytes of a value in a message, with NUL */
#define YAML_PART_NAME_MAX 63 /* bytes of a rule's name */

struct yaml_part {
    const char *file; /* appears only in messages */
    struct error *err;
    const char *section; /* prefix of messages, such as "access: "; NULL: none */
    bool secret;         /* keys and values may be passwords: messages omit them */
    yaml_document_t doc;
};

typedef int (*yaml_part_fn)(struct yaml_part *y, void *cookie);
/* Parses @text and calls @fn with the document in y->doc. Returns the result of @fn or -ENOMEM.
 * Returns -EINVAL with a message if @text is malformed, or has an alias or a second document. */
int yaml_part_read(struct yaml_part *y, struct span text, yaml_part_fn fn, void *cookie);
/* Gets the value of the top-level key @name. *ret is NULL if there is no such key, or if the
 * document is not a mapping, which the parser of the options reports. Returns 0, or -EINVAL with a
 * message if the key occurs twice. */
int yaml_part_find(struct yaml_part *y, const char *name, const yaml_node_t **ret);

/* Reads one key of a mapping. Returns 0, or -errno with y->err. */
typedef int (*yaml_part_key_fn)(struct yaml_part *y, const yaml_node_t *key,
                                const yaml_node_t *value, void *cookie);
/* Calls @fn for each key of the mapping @name in @text, or of the whole document if @name is NULL.
 * Refuses duplicate keys. Returns 0 and *ret_found, -EINVAL with a message, or the error of @fn. */
int yaml_part_mapping(struct yaml_part *y, struct span text, const char *name, yaml_part_key_fn fn,
                      void *cookie, bool *ret_found);

/* Returns the text of a scalar, which points into y->doc; SPAN_NULL for other nodes. */
struct span yaml_part_text(const yaml_node_t *n);
/* Returns the line of @n, counted from 1. */
unsigned yaml_part_line(const yaml_node_t *n);
/* Formats @n for a message into @buf; a secret becomes "...". Returns @buf or a literal. */
const char *yaml_part_shown(const struct yaml_part *y, const yaml_node_t *n,
                            char buf[YAML_PART_SHOWN]);
/* Sets "FILE, line N: SECTION RULE: KEY does not take 'VALUE': it takes TAKES". Omits @rule if it
 * is "". Returns -EINVAL. */
int yaml_part_refuse(struct yaml_part *y, const yaml_node_t *at, const char *rule, const char *key,
                     const char *takes);

/* Copies a rule's name. Returns false if the name is not valid. */
bool yaml_part_take_name(const yaml_node_t *n, char ret[YAML_PART_NAME_MAX + 1]);
/* Appends the matchers in @n, a text or a list of texts, to @list. @example: shown in the message.
 * Returns 0, -EINVAL with a message, or -ENOMEM. */
int yaml_part_take_matchers(struct yaml_part *y, const yaml_node_t *n, const char *rule,
                            const char *example, struct matcher_list *list);
