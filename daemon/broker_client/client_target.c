/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about one process: its files, and an attach to it. */
#include "broker_client/client.h"

#include "base/cleanup.h"
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
              "process %d is quarantined: reading it, or another process of its container or user, "
              "hung on a file system or stalled flamed",
              id->host_pid);
    error_remedy(err, "check the mounts there (FUSE, NFS); flamed reads it again once they answer, "
                      "or within the hour; its log says why");
    return -ETIMEDOUT;
}

static struct broker_request request_of(enum broker_request_kind kind, const struct proc_id *id)
{
    return (struct broker_request){ .kind = kind, .fields.target = client_target(id) };
}

int broker_maps(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return client_open(b, request_of(BROKER_MAPS, id), ret_fd, err);
}

int broker_mem(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return client_open(b, request_of(BROKER_MEM, id), ret_fd, err);
}

int broker_service_words(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return client_open(b, request_of(BROKER_SERVICE_WORDS, id), ret_fd, err);
}

int broker_tracer_info(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return client_open(b, request_of(BROKER_TRACER_INFO, id), ret_fd, err);
}

int broker_pagemap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return client_open(b, request_of(BROKER_PAGEMAP, id), ret_fd, err);
}

static int call_cgroup(struct broker *b, const struct proc_id *id, struct cgroup_answer *ret,
                       int *ret_fd, struct error *err)
{
    struct broker_request q = request_of(BROKER_CGROUP, id);
    struct broker_answer a;
    int r = client_call_file(b, &q, &a, ret_fd, err);

    if (r == 0)
        *ret = a.body.cgroup;
    return r;
}

int broker_cgroup(struct broker *b, const struct proc_id *id, int *ret_fd, uint64_t *ret_cpu_limit,
                  struct error *err)
{
    struct cgroup_answer a;
    int r = call_cgroup(b, id, &a, ret_fd, err);

    if (r == 0)
        *ret_cpu_limit = a.cpu_limit;
    return r;
}

int broker_is_frozen(struct broker *b, const struct proc_id *id, bool *ret, struct error *err)
{
    _cleanup_close_ int fd = -1;
    struct cgroup_answer a;
    int r = call_cgroup(b, id, &a, &fd, err);

    if (r == 0)
        *ret = a.frozen;
    return r;
}

/* Assigns the descriptors of an answer to their files. Returns false if their number differs from
 * the answer's. */
static bool place_files(const struct cgroup_files_answer *a, int *fds, size_t count,
                        struct broker_cgroup_files *ret)
{
    size_t next = 0;

    if ((size_t)__builtin_popcount(a->files) != count)
        return false;
    ret->cpu_limit = a->cpu_limit;
    ret->memory_limit = a->memory_limit;
    ret->swap_limit = a->swap_limit;
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        ret->fds[i] = a->files & 1u << i ? take_fd(&fds[next++]) : -1;
    return true;
}

int broker_cgroup_files(struct broker *b, const struct proc_id *id, struct broker_cgroup_files *ret,
                        struct error *err)
{
    struct broker_request q = request_of(BROKER_CGROUP_NUMBERS, id);
    int fds[BROKER_CGROUP_FILES];
    struct broker_answer a;
    size_t count = 0;
    int r = client_call(b, &q, &a, fds, ARRAY_SIZE(fds), &count, err);

    if (r == 0 && !place_files(&a.body.cgroup_numbers, fds, count, ret))
        r = error_set(err, -EBADMSG,
                      "flamed-broker sent %zu files of cgroups, not the number that it said",
                      count);
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
    return r;
}

int broker_namespace_user(struct broker *b, const struct proc_id *id, uint32_t *ret_uid,
                          struct error *err)
{
    struct broker_request q = request_of(BROKER_NAMESPACE_USER, id);
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, err);

    if (r == 0)
        *ret_uid = a.body.namespace_user.uid;
    return r;
}

int broker_wait_peers(struct broker *b, const struct proc_id *id,
                      const struct peers_wanted *threads, size_t n,
                      struct waiting_peer ret[PEERS_MAX], struct error *err)
{
    struct broker_request q = request_of(BROKER_WAIT_PEERS, id);
    struct broker_answer a;
    int r;

    if (n == 0 || n > PEERS_MAX)
        return error_set(err, -EINVAL, "%zu threads are not 1 to %d", n, PEERS_MAX);
    q.fields.wait_peers.count = (uint32_t)n;
    memcpy(q.fields.wait_peers.threads, threads, n * sizeof(*threads));
    r = client_call_plain(b, &q, &a, err);
    if (r == 0)
        memcpy(ret, a.body.wait_peers.threads, sizeof(a.body.wait_peers.threads));
    return r;
}

int broker_hsperfdata(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return client_open(b, request_of(BROKER_HSPERFDATA, id), ret_fd, err);
}

int broker_perfmap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return client_open(b, request_of(BROKER_PERFMAP, id), ret_fd, err);
}

int broker_mapped(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                  int *ret_fd, struct error *err)
{
    struct broker_request q = { .kind = BROKER_MAPPED };

    q.fields.mapped = client_mapping(id, start, end);
    return client_open(b, q, ret_fd, err);
}

int broker_debug(struct broker *b, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err)
{
    struct broker_request q = request_of(BROKER_DEBUG, id);

    if (n > BROKER_BUILD_ID_MAX)
        return error_set(err, -EINVAL, "a build-id has at most %d bytes, not %zu",
                         BROKER_BUILD_ID_MAX, n);
    q.fields.debug.n = (uint32_t)n;
    memcpy(q.fields.debug.bytes, build_id, n);
    return client_open(b, q, ret_fd, err);
}

int broker_debug_shared(struct broker *b, const struct proc_id *id, struct span name, int *ret_fd,
                        struct error *err)
{
    struct broker_request q = request_of(BROKER_DEBUG_SHARED, id);
    struct shared_fields *f = &q.fields.debug_shared;
    int r = client_put_name(f->name, sizeof(f->name), name, err);

    return r < 0 ? r : client_open(b, q, ret_fd, err);
}

int broker_program_jar(struct broker *b, const struct proc_id *id, const char *name, int *ret_fd,
                       struct error *err)
{
    struct broker_request q = request_of(BROKER_PROGRAM_JAR, id);
    struct shared_fields *f = &q.fields.program_jar;
    int r = client_put_name(f->name, sizeof(f->name), span_of(name), err);

    return r < 0 ? r : client_open(b, q, ret_fd, err);
}

int broker_debuglink(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const char *basename, int *ret_fd, struct error *err)
{
    struct broker_request q = { .kind = BROKER_DEBUGLINK };
    struct debuglink_fields *f = &q.fields.debuglink;
    int r = client_put_name(f->name, sizeof(f->name), span_of(basename), err);

    f->at = client_mapping(id, start, end);
    return r < 0 ? r : client_open(b, q, ret_fd, err);
}

int broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                  uint32_t options, int *ret_result, int *ret_out, struct error *err)
{
    struct broker_request q = { .kind = BROKER_ATTACH };
    int fds[BROKER_ATTACH_FDS] = { -1, -1 };
    struct broker_answer a;
    size_t count = 0;
    int r;

    q.fields.attach = (struct attach_fields){
        .target = client_target(id), .mode = mode, .options = options, .mount_tmp = tmp
    };
    r = client_call(b, &q, &a, fds, ARRAY_SIZE(fds), &count, err);
    if (r == 0) {
        *ret_result = fds[0];
        *ret_out = fds[1];
    }
    return r;
}

int broker_attach_check(struct broker *b, const struct proc_id *id, struct error *err)
{
    return client_do(b, request_of(BROKER_ATTACH_CHECK, id), err);
}

static int ask_status(struct broker *b, enum broker_request_kind kind, const struct proc_id *id,
                      int *ret_status)
{
    struct broker_request q = request_of(kind, id);
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, NULL);

    if (r == 0)
        *ret_status = (int)(kind == BROKER_ATTACH_ENDED ? a.body.attach_ended.status
                                                        : a.body.zombie_status.status);
    return r;
}

int broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status)
{
    return ask_status(b, BROKER_ATTACH_ENDED, id, ret_status);
}

int broker_zombie_status(struct broker *b, const struct proc_id *id, int *ret_status)
{
    return ask_status(b, BROKER_ZOMBIE_STATUS, id, ret_status);
}
