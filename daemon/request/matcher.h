/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers as Prometheus writes them, on what is known of a process: main=~"com.acme.*",
 * namespace!="test". All of a list must hold; what a process has not is "". Regular expressions
 * have to match the whole value. Thread: the owner's.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define MATCHERS_MAX 16
#define MATCHER_VALUE_MAX 1000 /* bytes */

enum matcher_label {
    MATCHER_MAIN,
    MATCHER_POD,
    MATCHER_NAMESPACE,
    MATCHER_CONTAINER,
    MATCHER_SERVICE, /* a process can lie about it: no access rule may ask for it */
};
enum matcher_op { MATCHER_IS, MATCHER_IS_NOT, MATCHER_LIKE, MATCHER_UNLIKE };

struct matcher {
    enum matcher_label label;
    enum matcher_op op;
    char *value; /* owned */
};

struct matcher_list {
    struct matcher items[MATCHERS_MAX];
    size_t count;
};

/* Appends what @text says: one matcher, or several in braces with commas between them. 0, -ENOMEM,
 * or -EINVAL with a sentence that shows the right form; *list then holds what came before. Regular
 * expressions are tried. */
int matchers_parse(struct span text, struct matcher_list *list, struct error *err);
void matchers_clear(struct matcher_list *list);
/* As they are written: {main=~"com.acme.*",pod="x"}; nothing for an empty list. */
void matchers_write(const struct matcher_list *list, struct buf *out);

/* A list ready to match. */
struct matcher_set;

/* Copies @list. 0, -EINVAL with @err, or -ENOMEM. */
int matcher_set_new(const struct matcher_list *list, struct matcher_set **ret, struct error *err);
struct matcher_set *matcher_set_free(struct matcher_set *s);
static inline void matcher_set_freep(struct matcher_set **s)
{
    matcher_set_free(*s);
}
/* Returns the list, as long as @s lives. */
const struct matcher_list *matcher_set_list(const struct matcher_set *s);
/* Returns whether a matcher asks for @label. */
bool matcher_set_uses(const struct matcher_set *s, enum matcher_label label);

/* What is known of a process; "" where nothing is. A service may be NULL, too. A pod or a container
 * is also known by its uid or id. A container's id may be shortened to 6 digits or more. */
struct matcher_values {
    const char *main, *pod, *pod_uid, *pod_namespace, *container, *container_id, *service;
};
/* Returns true where all hold (an expression that takes too long does not). */
bool matcher_set_holds(const struct matcher_set *s, const struct matcher_values *v);
