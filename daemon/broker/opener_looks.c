/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/opener_looks.h"

#include "base/cleanup.h"
#include "broker/mapped.h"
#include "broker/target/agent_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

_Static_assert(sizeof(struct look_code_fields) <= sizeof(union broker_fields), "a look fits");
_Static_assert(sizeof(struct look_jvm) <= sizeof(union broker_body), "its answer fits");

static void close_fds(struct reply *rep)
{
    while (rep->fd_count)
        close_fd(rep->fds[--rep->fd_count]);
}

static uint32_t device_of(const struct stat *st)
{
    return major(st->st_dev) << 20 | minor(st->st_dev);
}

static int look_for_agent(struct server *s, const struct target_fields *of, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    int fd = -1, r = target_pin(s, of, &t, &rep->err) ?: agents_find(&t, &fd, &rep->err);

    return r ? r : fd < 0 ? BROKER_ABSENT : reply_fd(rep, fd);
}

static bool count_mapping(const struct mapping *m, void *cookie)
{
    (void)m;
    ++*(uint64_t *)cookie;
    return false;
}

/* The maps view is opened before the status is read, and is read after it. After an exec the view
 * would be empty. So the user in the status is that of the JVM, not of a set-user-id program that
 * it executed. */
static int look_at_jvm(struct server *s, const struct target_fields *of, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int maps = -1, counted = -1;
    struct look_jvm jvm = { .mappings = 0 };
    struct proc_status status;
    uint64_t start = 0;
    int r = target_pin(s, of, &t, &rep->err) ?: target_open_proc(&t, "maps", &maps, &rep->err) ?:
            target_open_proc(&t, "maps", &counted, &rep->err);

    if (r)
        return r;
    r = proc_read_status(s->proc_fd, t.host_pid, &status);
    if (r < 0)
        return error_code(&rep->err, r, "cannot read the status of process %d", t.host_pid);
    r = r ?: target_check_jvm(&t, maps, &start, &rep->err);
    if (r)
        return r;
    maps_scan(counted, count_mapping, &jvm.mappings);
    jvm.uid = status.uid;
    jvm.gid = status.gid;
    memcpy(&rep->body, &jvm, sizeof(jvm));
    return target_check(&t);
}

/* Checks that the mapping of @f has the name libjvm.so, if it must, and that @fd is its file. */
static int check_mapping(const struct target *t, const struct look_code_fields *f, int fd,
                         struct error *err)
{
    struct mapped m = { 0 };
    struct stat st;
    int r = mapped_find(t, f->at.start, f->at.end, &m, err);

    if (r)
        return r;
    if (f->libjvm && !path_is_libjvm(span_of(m.path))) {
        error_set(err, -EPERM, "the mapping of process %d is not of a libjvm.so", t->host_pid);
        error_remedy(err, "start the process again if its file was replaced");
        return -EPERM;
    }
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != f->inode || device_of(&st) != f->device)
        return error_set(err, -ESTALE, "process %d has mapped another file there", t->host_pid);
    return 0;
}

static int look_at_code(struct server *s, const struct look_code_fields *f, struct error *err)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    struct reply file = { 0 };
    int r = target_pin(s, &f->at.target, &t, err);

    if (r)
        return r;
    r = request_mapped(s, &f->at, &file);
    if (r < 0)
        *err = file.err;
    else
        r = check_mapping(&t, f, file.fd_count ? file.fds[0] : -1, err);
    for (size_t i = 0; r == 0 && i < OPENER_LOOK_PLACES_MAX && f->places[i]; i++)
        r = mapped_check_code(&t, &f->at, file.fds[0], f->places[i], err);
    close_fds(&file);
    return r;
}

static int look(struct server *s, const struct broker_request *q, struct reply *rep)
{
    struct look_code_fields code;

    if (q->kind == OPENER_LOOK_AGENT)
        return look_for_agent(s, &q->fields.target, rep);
    if (q->kind == OPENER_LOOK_JVM)
        return look_at_jvm(s, &q->fields.target, rep);
    memcpy(&code, &q->fields, sizeof(code));
    return look_at_code(s, &code, &rep->err);
}

bool opener_look_answer(struct server *s, const void *raw, size_t n, struct broker_request *q,
                        struct reply *rep, int *ret_result)
{
    if (n != sizeof(*q))
        return false;
    memcpy(q, raw, n);
    if (q->version != BROKER_WIRE_VERSION || q->kind < OPENER_LOOK_AGENT ||
        q->kind > OPENER_LOOK_JVM)
        return false;
    *ret_result = look(s, q, rep);
    return true;
}

/* Lets an opener perform the look, or performs it here if there never was an opener. */
static int ask(struct server *s, const struct broker_request *q, struct reply *rep)
{
    return s->has_openers ? file_openers_look(s, q, rep) : look(s, q, rep);
}

int opener_look_for_agent(struct server *s, const struct target_fields *of, int *ret_fd,
                          struct error *err)
{
    const struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                      .kind = OPENER_LOOK_AGENT,
                                      .fields.target = *of };
    struct reply rep = { 0 };
    int r = ask(s, &q, &rep);

    *ret_fd = r == 0 && rep.fd_count ? rep.fds[0] : -1;
    if (r < 0)
        *err = rep.err;
    return r == BROKER_ABSENT ? 0 : r;
}

int opener_look_at_jvm(struct server *s, const struct target_fields *of, struct look_jvm *ret,
                       struct error *err)
{
    const struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                      .kind = OPENER_LOOK_JVM,
                                      .fields.target = *of };
    struct reply rep = { 0 };
    int r = ask(s, &q, &rep);

    close_fds(&rep);
    if (r < 0)
        *err = rep.err;
    if (r == 0)
        memcpy(ret, &rep.body, sizeof(*ret));
    return r;
}

int opener_look_at_code(struct server *s, const struct mapping_fields *at, bool libjvm, int fd,
                        const uint64_t *places, size_t count, struct error *err)
{
    struct broker_request q = { .version = BROKER_WIRE_VERSION, .kind = OPENER_LOOK_CODE };
    struct look_code_fields f = { .at = *at, .libjvm = libjvm };
    struct reply rep = { 0 };
    struct stat st;
    int r;

    if (count > OPENER_LOOK_PLACES_MAX)
        return error_set(err, -E2BIG, "there are too many places for probes");
    for (size_t i = 0; i < count; i++) {
        if (!places[i]) /* ends the list */
            return error_set(err, -EINVAL, "no probe may be at the first byte of a file");
    }
    if (fstat(fd, &st) < 0)
        return error_errno(err, "cannot look at the file of process %d", at->target.host_pid);
    f.inode = st.st_ino;
    f.device = device_of(&st);
    memcpy(f.places, places, count * sizeof(*places));
    memcpy(&q.fields, &f, sizeof(f));
    r = ask(s, &q, &rep);
    close_fds(&rep);
    if (r < 0)
        *err = rep.err;
    return r;
}
