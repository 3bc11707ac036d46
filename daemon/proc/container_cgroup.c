/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/container_cgroup.h"

#include "base/list.h"

/* Names of containers' cgroups. The first row that fits counts. */
static const struct {
    const char *parent; /* NULL: any */
    const char *prefix, *suffix;
    const char *runtime;
    bool machine;
} NAMES[] = {
    { NULL, "systemd-nspawn@", ".service", "systemd-nspawn", true },
    { "machine.slice", "machine-lxc\\x2d", ".scope", "lxc", true }, /* of libvirt */
    { "machine.slice", "machine-qemu\\x2d", ".scope", NULL, true },
    { "machine.slice", "machine-", ".scope", "systemd-nspawn", true },
    { NULL, "lxc.payload.", "", "lxc", false },
    { "lxc", "", "", "lxc", false },
    { "lxc.payload", "", "", "lxc", false },
    { NULL, "runc-", ".scope", "runc", false },
    { NULL, "crun-", ".scope", "crun", false },
};

static const struct {
    const char *name, *runtime;
} FOLDERS[] = {
    { "docker", "docker" },
    { "moby", "docker" },
    { "libpod_parent", "podman" },
    { "containerd", "containerd" },
    { "k8s.io", "containerd" },
    { "default", "" },
    { "buildkit", "" },
    { "kubepods", "" },
    { "burstable", "" },
    { "besteffort", "" },
    { "lxc", "" },
    { "lxc.payload", "" },
    { "actions_job", "" },
    { "ecs", "" },
    { "garden", "" },
    { "nomad", "" },
};

bool container_cgroup_parse(struct span part, struct span parent, struct container_cgroup *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        struct span name = part;

        if ((NAMES[i].parent && !span_eq_str(parent, NAMES[i].parent)) ||
            !span_take_str(&name, NAMES[i].prefix) || !span_ends_with(name, NAMES[i].suffix))
            continue;
        name.n -= strlen(NAMES[i].suffix);
        *ret = (struct container_cgroup){ name, NAMES[i].runtime, NAMES[i].machine };
        return true;
    }
    return false;
}

const char *container_cgroup_folder(struct span part)
{
    for (size_t i = 0; i < ARRAY_SIZE(FOLDERS); i++) {
        if (span_eq_str(part, FOLDERS[i].name))
            return FOLDERS[i].runtime;
    }
    return NULL;
}

bool container_cgroup_is_bare(struct span part)
{
    return part.n && !span_ends_with(part, ".slice") && !span_ends_with(part, ".service") &&
           !span_ends_with(part, ".scope") && !span_eq_str(part, "..");
}

bool container_cgroup_bare_counts(const struct cgroup_line *line)
{
    return line->hierarchy == 0 || span_eq_str(line->controllers, "name=systemd");
}
