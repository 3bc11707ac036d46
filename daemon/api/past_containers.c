/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process of the past is in a requested container. Of most processes only the id of their
 * container is known. So a name also selects by a list of ids, between line ends.
 */
#include "api/api_impl.h"
#include "capture/process_selector.h"
#include "store/history.h"

#define LINE_BYTES 256

static bool has_line(const char *ids, const char *id)
{
    char line[LINE_BYTES];

    return ids && snprintf(line, sizeof(line), "\n%s\n", id) < (int)sizeof(line) &&
           strstr(ids, line);
}

void container_ids_add(struct buf *ids, const char *id)
{
    if (ids->error || !id[0] || strchr(id, '\n') || has_line(ids->p, id))
        return;
    buf_printf(ids, "%s%s\n", ids->n ? "" : "\n", id);
}

/* Returns whether @attributes, as in struct profile_process, name a container @name. */
static bool names_container(const char *attributes, const char *name)
{
    struct span lines = span_of(attributes);

    return span_eq_str(span_find_line(lines, HISTORY_CONTAINER_NAME), name) ||
           span_eq_str(span_find_line(lines, HISTORY_POD_CONTAINER_NAME), name);
}

bool selector_has_container(const struct target_selector *t, const char *id, const char *attributes)
{
    if (!t->container || names_container(attributes, t->container))
        return true;
    if (!id[0])
        return false;
    return strcmp(id, t->container) == 0 || has_line(t->container_ids, id) ||
           (target_is_id_prefix(t->container) &&
            strncmp(id, t->container, strlen(t->container)) == 0);
}
