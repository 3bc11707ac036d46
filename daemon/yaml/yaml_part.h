/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file, part by part: options, rules, users, TLS. A tree of libyaml has the line
 * of each node, so that a sentence can name it. Thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "request/matcher.h"

#include <yaml.h>

#define YAML_PART_SHOWN 64    /* bytes of a value in a sentence, with the NUL */
#define YAML_PART_NAME_MAX 63 /* of a rule */

struct yaml_part {
    const char *file; /* only named in sentences */
    struct error *err;
    const char
        *section; /* what sentences on a value begin with, such as "access: "; NULL: nothing */
    bool secret;  /* values and keys may be passwords: no sentence has them */
    yaml_document_t doc;
};

typedef int (*yaml_part_fn)(struct yaml_part *y, void *cookie);
/* Calls @fn with y->doc, the document @text. Returns what it returned; -EINVAL with a sentence:
 * this is no YAML, has an alias, or a second document; -ENOMEM. */
int yaml_part_read(struct yaml_part *y, struct span text, yaml_part_fn fn, void *cookie);
/* Gets the value of @name at the top level of y->doc. NULL: it is not there, or the document is no
 * mapping, which the reader of the other options says. 0; -EINVAL with a sentence: it is there
 * twice. */
int yaml_part_find(struct yaml_part *y, const char *name, const yaml_node_t **ret);

/* One key of a mapping. 0, or -errno with y->err. */
typedef int (*yaml_part_key_fn)(struct yaml_part *y, const yaml_node_t *key,
                                const yaml_node_t *value, void *cookie);
/* Calls @fn for each key of the mapping @name in @text, or of all of @text where @name is NULL;
 * each may be there once. 0 and *ret_found; -EINVAL with a sentence; what @fn returned. */
int yaml_part_mapping(struct yaml_part *y, struct span text, const char *name, yaml_part_key_fn fn,
                      void *cookie, bool *ret_found);

/* Returns the text of a scalar; SPAN_NULL for what is none. Points into y->doc. */
struct span yaml_part_text(const yaml_node_t *n);
/* Returns the line of @n, from 1 on. */
unsigned yaml_part_line(const yaml_node_t *n);
/* Returns @n as a sentence shows it, in @buf: "..." of what is secret. */
const char *yaml_part_shown(const struct yaml_part *y, const yaml_node_t *n,
                            char buf[YAML_PART_SHOWN]);
/* Sets "FILE, line N: SECTION RULE: KEY does not take 'VALUE': it takes TAKES". @rule: "": none.
 * Returns -EINVAL. */
int yaml_part_refuse(struct yaml_part *y, const yaml_node_t *at, const char *rule, const char *key,
                     const char *takes);

/* Copies the name of a rule. False: it is none. */
bool yaml_part_take_name(const yaml_node_t *n, char ret[YAML_PART_NAME_MAX + 1]);
/* Appends to @list the matchers in @n, one text or a list of them. @example: such a text. 0;
 * -EINVAL with a sentence; -ENOMEM. */
int yaml_part_take_matchers(struct yaml_part *y, const yaml_node_t *n, const char *rule,
                            const char *example, struct matcher_list *list);
