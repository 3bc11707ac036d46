/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of push_config share. Private to push_config*.c. */
#pragma once

#include "push/push_config.h"
#include "yaml/yaml_part.h"

struct push_reading {
    struct yaml_part *y;
    struct push_target *t; /* NULL: the limit of targets is reached */
};

/* Reads one key of a mapping. Returns 0, or -errno with a message. */
typedef int (*push_key_fn)(const struct push_reading *r, struct span key, const yaml_node_t *at,
                           const yaml_node_t *value);

/* Returns node @id of the document of @y. */
const yaml_node_t *push_config_node(struct yaml_part *y, int id);
/* Sets the defaults of a target. */
void push_target_default(struct push_target *t);
/* Refuses the value of a key without showing the value, which may be a secret. Returns -EINVAL. */
int push_refuse_secret(const struct push_reading *r, const yaml_node_t *at, const char *key,
                       const char *takes);
/* Calls @fn for each key of the mapping @n, and refuses a key that is given twice. */
int push_each_key(const struct push_reading *r, const yaml_node_t *n, const char *name,
                  push_key_fn fn);
/* Takes one key of a target of `push`. */
int push_target_key(const struct push_reading *r, struct span key, const yaml_node_t *at,
                    const yaml_node_t *value);
/* Checks that the keys of the target at @n do not contradict each other. */
int push_target_check(const struct push_reading *r, const yaml_node_t *n);
/* Appends the `webhook` of each of the `triggers` to @c. Returns 0 or -errno. */
int push_read_webhooks(struct yaml_part *y, struct push_config *c);
