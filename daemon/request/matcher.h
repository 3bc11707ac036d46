/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers in Prometheus' syntax on the facts of a process: main=~"com.acme.*", namespace!="test".
 * All matchers of a list must hold; an unknown fact is "". Regular expressions match the whole
 * value. Thread: the owner's.
 */
#pragma once

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define MATCHERS_MAX 16
#define MATCHER_VALUE_MAX 1000 /* bytes of a value */

enum matcher_label {
    MATCHER_MAIN,
    MATCHER_POD,
    MATCHER_NAMESPACE,
    MATCHER_CONTAINER,
    MATCHER_SERVICE, /* chosen by the process itself, so refused in access rules */
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

/* Parses @text, one matcher or several in braces separated by commas, and appends to @list. Returns
 * 0, -ENOMEM, or -EINVAL with a message that shows the valid form. After an error *list has the
 * matchers before it. Regular expressions are compiled to check them. */
int matchers_parse(struct span text, struct matcher_list *list, struct error *err);
void matchers_clear(struct matcher_list *list);
/* Formats the list, such as {main=~"com.acme.*",pod="x"}. Writes nothing for an empty list. */
void matchers_write(const struct matcher_list *list, struct buf *out);

/* A compiled list. */
struct matcher_set;

/* Copies and compiles @list. Returns 0, -EINVAL with @err, or -ENOMEM. */
int matcher_set_new(const struct matcher_list *list, struct matcher_set **ret, struct error *err);
struct matcher_set *matcher_set_free(struct matcher_set *s);
CLEANUP_FUNCTION(matcher_set_freep, matcher_set, matcher_set_free)
/* Returns the list of @s, valid as long as @s. */
const struct matcher_list *matcher_set_list(const struct matcher_set *s);
/* Returns whether a matcher uses @label. */
bool matcher_set_uses(const struct matcher_set *s, enum matcher_label label);

/* Facts of a process, "" where unknown; service may be NULL, too. A pod or container also matches
 * by its uid or id. A matcher may shorten a container's id to 6 or more digits. */
struct matcher_values {
    const char *main, *pod, *pod_uid, *pod_namespace, *container, *container_id, *service;
    uint64_t payer; /* process_payer(); 0: not known */
};
/* Returns whether all matchers hold. A matcher that exceeds its time (match_name()) does not hold,
 * negated or not. Tries regular expressions last. */
bool matcher_set_holds(const struct matcher_set *s, const struct matcher_values *v);
/* Returns whether a matcher may miss names of an owner, like match_share_is_spent(). @s may be
 * NULL. */
bool matcher_set_share_is_spent(const struct matcher_set *s);
/* Returns how many names exceeded the time of a matcher. @s may be NULL. */
size_t matcher_set_slow_names(const struct matcher_set *s);
/* Refuses a list that may be incomplete, like match_refuse_spent(). @s may be NULL. */
int matcher_set_refuse_spent(const struct matcher_set *s, struct error *err);
