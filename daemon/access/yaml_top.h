/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapping at the top level of the configuration file, key by key, with the line of what is wrong.
 * Thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

#include <yaml.h>

struct yaml_top {
    const char *file; /* only named in sentences */
    struct error *err;
    bool secret; /* values and keys may be passwords: no sentence has them */
    yaml_document_t doc;
};

/* One key of the mapping. 0, or -errno with y->err. */
typedef int (*yaml_top_fn)(struct yaml_top *y, const yaml_node_t *key, const yaml_node_t *value,
                           void *cookie);

/* Calls @fn for each key of the mapping @name in @text; each may stand there once. 0 and
 * *ret_found; -EINVAL with a sentence; what @fn returned. */
int yaml_top_mapping(struct yaml_top *y, struct span text, const char *name, yaml_top_fn fn,
                     void *cookie, bool *ret_found);

/* Returns the text of a scalar; SPAN_NULL for what is none. Points into y->doc. */
struct span yaml_top_text(const yaml_node_t *n);
/* "FILE, line N: KEY does not take 'VALUE': it takes TAKES"; y->secret: '...'. Return: -EINVAL. */
int yaml_top_refuse(struct yaml_top *y, const yaml_node_t *at, const char *key, const char *takes);
