/* SPDX-License-Identifier: Apache-2.0 */
/* The broker as what discover/ asks for files. */
#include "discover/table.h"

static int maps(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_maps(ctx, id, ret_fd, err);
}

static int mem(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_mem(ctx, id, ret_fd, err);
}

static int pagemap(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_pagemap(ctx, id, ret_fd, err);
}

static int service_words(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_service_words(ctx, id, ret_fd, err);
}

static int tracer_info(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_tracer_info(ctx, id, ret_fd, err);
}

static int hsperfdata(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_hsperfdata(ctx, id, ret_fd, err);
}

static int container_config(void *ctx, const char *id, int *ret_fd, struct error *err)
{
    return broker_container_config(ctx, id, ret_fd, err);
}

static int container_logs(void *ctx, int *ret_fd, struct error *err)
{
    return broker_container_logs(ctx, ret_fd, err);
}

static int cgroup(void *ctx, const struct proc_id *id, int *ret_fd, uint64_t *ret_cpu_limit,
                  struct error *err)
{
    return broker_cgroup(ctx, id, ret_fd, ret_cpu_limit, err);
}

static int namespace_user(void *ctx, const struct proc_id *id, uint32_t *ret_uid, struct error *err)
{
    return broker_namespace_user(ctx, id, ret_uid, err);
}

static bool is_quarantined(void *ctx, const struct proc_id *id, bool *ret_jvm)
{
    return broker_is_quarantined(ctx, id, ret_jvm);
}

static int sideband(void *ctx, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count, struct error *err)
{
    return broker_sideband(ctx, ret_fds, ret_count, err);
}

const struct discover_source DISCOVER_SOURCE_BROKER = {
    .maps = maps,
    .mem = mem,
    .pagemap = pagemap,
    .hsperfdata = hsperfdata,
    .service_words = service_words,
    .tracer_info = tracer_info,
    .container_config = container_config,
    .container_logs = container_logs,
    .cgroup = cgroup,
    .namespace_user = namespace_user,
    .is_quarantined = is_quarantined,
    .sideband = sideband,
};
