/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked about one process: its files, and to attach to it. */
#include "broker_client/client.h"

#include "proc/stall_readers.h"

void broker_set_quarantine(struct broker *b, const struct quarantine *l)
{
    b->quarantine = l;
}

bool broker_is_quarantined(const struct broker *b, const struct proc_id *id, bool *ret_jvm)
{
    const struct quarantined *one = b->quarantine ? quarantine_find(b->quarantine, id) : NULL;

    if (one && ret_jvm)
        *ret_jvm =
            one->jvm && one->id.host_pid == id->host_pid && one->id.start_ticks == id->start_ticks;
    return one || readers_wait_for(id);
}

int broker_refuse_quarantined(const struct proc_id *id, struct error *err)
{
    error_set(err, -ETIMEDOUT,
              "process %d is quarantined: a file system does not answer a reading of it, or of "
              "another process of its container or user; or flamed came to no end with one",
              id->host_pid);
    error_remedy(err, "see to the mounts there (FUSE, NFS); it is read again once they answer, or "
                      "within the hour; flamed's log says why");
    return -ETIMEDOUT;
}

int broker_maps(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_MAPS, id);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_mem(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_MEM, id);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_pagemap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_PAGEMAP, id);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_cgroup(struct broker *b, const struct proc_id *id, int *ret_fd, uint64_t *ret_cpu_limit,
                  struct error *err)
{
    struct broker_request q = client_request_target(BROKER_CGROUP, id);
    uint64_t value;
    int r = client_call_file_value(b, &q, ret_fd, &value, err);

    if (r == 0)
        *ret_cpu_limit = value & ~BROKER_CGROUP_FROZEN;
    return r;
}

int broker_is_frozen(struct broker *b, const struct proc_id *id, bool *ret, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_CGROUP, id);
    _cleanup_close_ int fd = -1;
    uint64_t value;
    int r = client_call_file_value(b, &q, &fd, &value, err);

    if (r == 0)
        *ret = value & BROKER_CGROUP_FROZEN;
    return r;
}

int broker_namespace_user(struct broker *b, const struct proc_id *id, uint32_t *ret_uid,
                          struct error *err)
{
    struct broker_request q = client_request_target(BROKER_NAMESPACE_USER, id);
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, err);

    if (r == 0)
        *ret_uid = (uint32_t)a.value;
    return r;
}

int broker_hsperfdata(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_HSPERFDATA, id);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_perfmap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_PERFMAP, id);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_mapped(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                  int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_MAPPED, id);

    q.start = start;
    q.end = end;
    return client_call_file(b, &q, ret_fd, err);
}

int broker_debug(struct broker *b, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_DEBUG, id);
    int r = client_request_name(&q, build_id, n, err);

    return r < 0 ? r : client_call_file(b, &q, ret_fd, err);
}

int broker_debug_shared(struct broker *b, const struct proc_id *id, struct span name, int *ret_fd,
                        struct error *err)
{
    struct broker_request q = client_request_target(BROKER_DEBUG_SHARED, id);
    int r = client_request_name(&q, name.p, name.n, err);

    return r < 0 ? r : client_call_file(b, &q, ret_fd, err);
}

int broker_debuglink(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const char *basename, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_DEBUGLINK, id);
    int r = client_request_name(&q, basename, strlen(basename), err);

    q.start = start;
    q.end = end;
    return r < 0 ? r : client_call_file(b, &q, ret_fd, err);
}

int broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                  uint32_t options, int *ret_result, int *ret_out, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_ATTACH, id);
    int fds[BROKER_ATTACH_FDS] = { -1, -1 };
    struct broker_answer a;
    size_t count = 0;
    int r;

    q.set = mode;
    q.sets = options | (tmp ? BROKER_ATTACH_TMP : 0);
    r = client_call(b, &q, &a, fds, ARRAY_SIZE(fds), &count, err);
    if (r == 0) {
        *ret_result = fds[0];
        *ret_out = fds[1];
    }
    return r;
}

int broker_attach_check(struct broker *b, const struct proc_id *id, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_ATTACH_CHECK, id);
    struct broker_answer a;

    return client_call_plain(b, &q, &a, err);
}

int broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status)
{
    struct broker_request q = client_request_target(BROKER_ATTACH_ENDED, id);
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, NULL);

    if (r == 0)
        *ret_status = (int)a.value;
    return r;
}
