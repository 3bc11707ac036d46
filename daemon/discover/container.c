/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container ids in cgroup paths. A path is read from its end: the innermost container is the one
 * that the process is in, and what an init system inside it appends is passed over.
 *
 *   docker       /docker/ID                           /system.slice/docker-ID.scope
 *   containerd   /kubepods/burstable/podUID/ID .../kubepods-pod<UID>.slice/cri-containerd-ID.scope
 *                /system.slice/containerd.service/kubepods-...slice:cri-containerd:ID   (version 1)
 *   CRI-O        .../crio-ID.scope[/container]        its monitor is crio-conmon-ID.scope
 *   podman       /libpod_parent/libpod-ID             /machine.slice/libpod-ID.scope[/container]
 *   systemd      /machine.slice/machine-NAME.scope/payload      systemd-nspawn@NAME.service/payload
 *   lxc          /lxc/NAME   /lxc.payload/NAME   /lxc.payload.NAME   its monitor is lxc.monitor...
 *   runc, crun   /NAME       runc-NAME.scope     crun-NAME.scope
 */
#include "discover/container.h"

#include "base/ascii.h"
#include "base/list.h"
#include "proc/container_cgroup.h"

#define UID_DIGITS 32
#define UID_TEXT 36

/* The reliability of a match, ascending. */
enum rank { RANK_NONE, RANK_BARE, RANK_NAME, RANK_HEX, RANK_HEX_RUNTIME };

/* Runtimes by the word before the id. NULL: a monitor, which is outside its container. */
static const struct {
    const char *prefix, *runtime;
} PREFIXES[] = {
    { "docker", "docker" },
    { "cri-containerd", "containerd" },
    { "nerdctl", "containerd" },
    { "containerd", "containerd" },
    { "crio", "cri-o" },
    { "libpod", "podman" },
    { "libpod-payload", "podman" },
    { "runc", "runc" },
    { "crun", "crun" },
    { "crio-conmon", NULL },
    { "libpod-conmon", NULL },
    { "conmon", NULL },
};

bool container_id_is_hex(struct span id)
{
    return id.n == CONTAINER_ID_DIGITS && ALL_OF(i, id.n, ascii_is_lower_hex(id.p[i]));
}

static bool cut_suffix(struct span *s, const char *suffix)
{
    if (!span_ends_with(*s, suffix))
        return false;
    s->n -= strlen(suffix);
    return true;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '+' || c == ':' || c == '@';
}

/* Copies a name, and decodes systemd's \xNN. Returns false if the name is empty, too long or
 * invalid. */
static bool copy_name(struct span s, char *buf, size_t size)
{
    size_t n = 0;

    while (s.n) {
        char c = s.p[0];

        if (c == '\\') {
            char digits[3] = "";
            struct span hex = span_from(s, 2);
            uint64_t v;

            if (s.n < 4 || s.p[1] != 'x')
                return false;
            hex = (struct span){ span_copy((struct span){ hex.p, 2 }, digits, sizeof(digits)), 2 };
            if (!span_take_hex(&hex, &v) || hex.n)
                return false;
            c = (char)v;
            s = span_from(s, 3);
        }
        if (!is_name_char(c) || n + 1 >= size)
            return false;
        buf[n++] = c;
        s = span_from(s, 1);
    }
    buf[n] = '\0';
    return n > 0;
}

/* Stores a container that is known by its name alone: the name is also its id. */
static enum rank named(struct span name, const char *runtime, enum rank rank, struct container *c)
{
    if (!copy_name(name, c->id, sizeof(c->id)))
        return RANK_NONE;
    span_copy(span_of(c->id), c->name, sizeof(c->name));
    span_copy(span_of(runtime), c->runtime, sizeof(c->runtime));
    return rank;
}

/* [prefix-]ID, [...:prefix:]ID, each with or without ".scope". */
static enum rank parse_hex(struct span part, struct span parent, struct container *c)
{
    const char *runtime = "";
    struct span id, prefix;

    cut_suffix(&part, ".scope");
    if (part.n < CONTAINER_ID_DIGITS)
        return RANK_NONE;
    id = span_from(part, part.n - CONTAINER_ID_DIGITS);
    prefix = (struct span){ part.p, part.n - CONTAINER_ID_DIGITS };
    if (!container_id_is_hex(id))
        return RANK_NONE;
    if (prefix.n) {
        if (prefix.p[prefix.n - 1] != '-' && prefix.p[prefix.n - 1] != ':')
            return RANK_NONE;
        prefix.n--;
        if (span_rfind(prefix, ':') < prefix.n)
            prefix = span_from(prefix, span_rfind(prefix, ':') + 1);
        for (size_t i = 0; i < ARRAY_SIZE(PREFIXES); i++) {
            if (!span_eq_str(prefix, PREFIXES[i].prefix))
                continue;
            if (!PREFIXES[i].runtime)
                return RANK_NONE;
            runtime = PREFIXES[i].runtime;
        }
    } else {
        runtime = container_cgroup_folder(parent) ?: "";
    }
    span_copy(id, c->id, sizeof(c->id));
    span_copy(span_of(runtime), c->runtime, sizeof(c->runtime));
    return runtime[0] ? RANK_HEX_RUNTIME : RANK_HEX;
}

/* "podUID" anywhere in @part, with '-' or systemd's '_' between the groups, or the 32 digits of a
 * static pod. */
static bool parse_pod_uid(struct span part, char ret[UID_TEXT + 1])
{
    for (size_t at = 0; at + 3 + UID_DIGITS <= part.n; at++) {
        struct span s = span_from(part, at);
        size_t n = 0, digits = 0;

        if (!span_take_str(&s, "pod"))
            continue;
        while (n < s.n && n < UID_TEXT) {
            bool group_end = digits == 8 || digits == 12 || digits == 16 || digits == 20;

            if (ascii_is_lower_hex(s.p[n]) && digits < UID_DIGITS)
                digits++;
            else if ((s.p[n] != '-' && s.p[n] != '_') || !group_end || s.p[n - 1] == '-' ||
                     s.p[n - 1] == '_')
                break;
            n++;
        }
        if (digits != UID_DIGITS || (n != UID_DIGITS && n != UID_TEXT) ||
            (n < s.n && s.p[n] != '.' && s.p[n] != ':'))
            continue;
        for (size_t i = 0; i < n; i++)
            ret[i] = s.p[i] == '_' ? '-' : s.p[i];
        ret[n] = '\0';
        return true;
    }
    return false;
}

/* Parses the component @part between @parent and @child. */
static enum rank parse_part(struct span part, struct span parent, struct span child,
                            struct container *c)
{
    enum rank rank = parse_hex(part, parent, c);
    struct container_cgroup g;

    if (rank != RANK_NONE || !container_cgroup_parse(part, parent, &g) || !g.runtime ||
        (g.machine && span_eq_str(child, "supervisor")))
        return rank;
    return named(g.name, g.runtime, RANK_NAME, c);
}

/* Takes the last component of @path, which is empty if there is none. */
static struct span take_last(struct span *path)
{
    struct span part;
    size_t slash;

    while (path->n && path->p[path->n - 1] == '/')
        path->n--;
    slash = span_rfind(*path, '/');
    part = slash < path->n ? span_from(*path, slash + 1) : *path;
    path->n -= part.n;
    return part;
}

/* Finds the best match in one path. Reads all levels: a container may nest its own containers as
 * deep as it wants, with names that it chooses. */
static enum rank parse_path(struct span path, bool bare_allowed, struct container *c)
{
    struct span child = SPAN_NULL, parent, part;
    enum rank rank = RANK_NONE;
    size_t levels = 0;

    for (part = take_last(&path); part.n; child = part, part = parent, levels++) {
        struct container around = { 0 };

        parent = take_last(&path);
        if (rank == RANK_NONE)
            rank = parse_part(part, parent, child, c);
        else if (parse_part(part, parent, child, &around) != RANK_NONE) {
            memcpy(c->outer, around.id, sizeof(c->outer));
            c->outer_pod_uid[0] = '\0'; /* it was the UID of a pod within this container */
        }
        if (rank != RANK_NONE && !c->pod_uid[0])
            parse_pod_uid(part, c->pod_uid);
        if (c->outer[0] && !c->outer_pod_uid[0])
            parse_pod_uid(part, c->outer_pod_uid);
    }
    if (c->outer[0]) /* a nested container could otherwise choose the name of another one */
        c->name[0] = '\0';
    if (rank == RANK_NONE && bare_allowed && levels == 1 && container_cgroup_is_bare(child))
        rank = named(child, "runc", RANK_BARE, c);
    return rank;
}

bool container_parse(struct span cgroup, bool nested, struct container *ret)
{
    enum rank best = RANK_NONE;
    struct cgroup_line line;

    *ret = (struct container){ 0 };
    while (cgroup_take_line(&cgroup, &line)) {
        struct container c = { 0 };
        enum rank rank = parse_path(line.path, nested && container_cgroup_bare_counts(&line), &c);

        if (rank > best) {
            best = rank;
            *ret = c;
        }
    }
    return best != RANK_NONE;
}
