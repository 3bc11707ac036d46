/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for separate debug files. The broker builds every path itself.
 */
#include "base/cleanup.h"
#include "broker/mapped.h"

#include <unistd.h>

#define DEBUG_MAX_BYTES (UINT64_C(8) << 30)
#define DEBUG_FOLDER "usr/lib/debug"

/* Links are followed inside the root: some distributions name debug files by build-id through them.
 */
static const struct file_rule DEBUG_RULE = { .max_bytes = DEBUG_MAX_BYTES,
                                             .elf = true,
                                             .follow = true };

/* Tries @path in the root of @t, NULL: the host's. What is there but may not be handed out counts
 * as absent: another root may have the right file. */
static int try_root(int root_fd, const char *path, const struct target *t, int *ret_fd)
{
    struct file_rule rule = DEBUG_RULE;

    rule.target = t;
    return root_open(root_fd, path, &rule, ret_fd, NULL) == 0 ? 0 : BROKER_ABSENT;
}

static void build_id_path(const struct broker_request *q, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/.build-id/%02x/", DEBUG_FOLDER, q->name[0]);

    for (uint32_t i = 1; i < q->name_n; i++)
        n += snprintf(path + n, size - (size_t)n, "%02x", q->name[i]);
    snprintf(path + n, size - (size_t)n, ".debug");
}

/*
 * debug. Safe: the path holds nothing but hex digits of the build-id below a fixed folder, in the
 * target's root (links cannot leave it) or the host's; a regular ELF file. Debug files are public
 * by nature.
 */
int request_debug(struct server *s, const struct broker_request *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int root = -1;
    char path[sizeof(DEBUG_FOLDER) + 32 + 2 * BROKER_BUILD_ID_MAX];
    int fd = -1, r;

    r = target_pin(s, q, &t, &rep->err);
    if (r == 0)
        r = target_open_root(&t, &root, &rep->err);
    if (r)
        return r;
    build_id_path(q, path, sizeof(path));
    r = try_root(root, path, &t, &fd);
    if (r)
        r = try_root(s->host_root_fd, path, NULL, &fd);
    return r ? r : reply_fd(rep, fd);
}

/* Where a debugger looks for the file that .gnu_debuglink names: beside the library and in .debug
 * beside it (both only in the root of @t, NULL: the host), and in the debug folder. */
static int try_debuglink(int root_fd, const char *folder, const char *name, const struct target *t,
                         int *ret_fd)
{
    static const struct {
        const char *before, *after;
        bool beside;
    } PLACES[] = { { "", "/", true }, { "", "/.debug/", true }, { DEBUG_FOLDER, "/", false } };
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(PLACES); i++) {
        int n = snprintf(path, sizeof(path), "%s%s%s%s", PLACES[i].before, folder, PLACES[i].after,
                         name);

        if ((t || !PLACES[i].beside) && n < (int)sizeof(path) &&
            try_root(root_fd, path, t, ret_fd) == 0)
            return 0;
    }
    return BROKER_ABSENT;
}

/*
 * debuglink. Safe: the folder is that of a file which the target has mapped to execute, as the
 * kernel names it, in the target's own root; or that folder below /usr/lib/debug, there or on the
 * host. flamed gives only a base name without a slash or a leading dot; links cannot leave the
 * root; a regular ELF object, so no configuration, key, data or core file.
 */
int request_debuglink(struct server *s, const struct broker_request *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int root = -1;
    struct mapped m = { 0 };
    char name[BROKER_NAME_MAX + 1];
    char *slash;
    int fd = -1, r;

    r = target_pin(s, q, &t, &rep->err);
    if (r == 0)
        r = mapped_find(&t, q->start, q->end, &m, &rep->err);
    if (r == 0)
        r = target_open_root(&t, &root, &rep->err);
    if (r)
        return r;
    slash = strrchr(m.path, '/');
    if (!slash)
        return BROKER_ABSENT;
    *slash = '\0';
    span_copy((struct span){ (const char *)q->name, q->name_n }, name, sizeof(name));
    r = try_debuglink(root, m.path, name, &t, &fd);
    if (r)
        r = try_debuglink(s->host_root_fd, m.path, name, NULL, &fd);
    return r ? r : reply_fd(rep, fd);
}
