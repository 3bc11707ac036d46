/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request for the file behind an executable mapping, and the vdso, which has no file.
 */
#include "broker/mapped.h"

#include "base/cleanup.h"
#include "broker/function_start.h"
#include "proc/procmap.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MAPPED_MAX_BYTES (UINT64_C(8) << 30)
#define VDSO_MAX_BYTES 65536
#define MAPPED_CODE_BYTES UINT64_C(32)

struct wanted {
    uint64_t start, end;
    struct mapped *ret;
};

static bool is_wanted(const struct mapping *m, void *cookie)
{
    struct wanted *w = cookie;

    if (m->start != w->start || m->end != w->end || !m->exec)
        return false;
    w->ret->inode = m->inode;
    w->ret->dev_major = m->dev_major;
    w->ret->dev_minor = m->dev_minor;
    w->ret->vdso = span_eq_str(m->path, "[vdso]");
    w->ret->path[0] = '\0';
    if (!m->deleted && m->path.n && m->path.p[0] == '/' && m->path.n < sizeof(w->ret->path))
        span_copy(m->path, w->ret->path, sizeof(w->ret->path));
    return true;
}

/* Does what mapped_find() does by a query of the kernel. -ENOTTY: the kernel has no such query, or
 * it failed. */
static int mapped_query(int maps_fd, struct wanted *w)
{
    struct procmap name;
    struct mapping m;
    int r = procmap_query(maps_fd, w->start, PROCMAP_EXEC, &name, &m);

    if (r < 0)
        return r == -ENOENT ? -ENOENT : -ENOTTY;
    return is_wanted(&m, w) ? 0 : -ENOENT;
}

int mapped_find(const struct target *t, uint64_t start, uint64_t end, struct mapped *ret,
                struct error *err)
{
    struct wanted w = { .start = start, .end = end, .ret = ret };
    _cleanup_close_ int maps = -1;
    int r = target_open_proc(t, "maps", &maps, err);

    if (r)
        return r;
    r = mapped_query(maps, &w);
    if (r == -ENOTTY)
        r = maps_scan(maps, is_wanted, &w) ? 0 : -ENOENT;
    if (r < 0) {
        r = target_check(t);
        return r ? r
                 : error_set(err, -ENOENT, "process %d has no executable mapping 0x%jx-0x%jx",
                             t->host_pid, (uintmax_t)start, (uintmax_t)end);
    }
    return 0;
}

struct place {
    const struct mapped *of;
    uint64_t offset;
};

static bool has_place(const struct mapping *m, const struct place *p)
{
    return m->exec && m->inode == p->of->inode && m->dev_major == p->of->dev_major &&
           m->dev_minor == p->of->dev_minor && p->offset >= m->offset &&
           p->offset - m->offset < m->end - m->start;
}

struct compared {
    struct place place;
    int mem, file;
    bool found, written, changed; /* a mapping contains the place; it is writable; its code differs
                                   * from the file */
};

/* Reads the same bytes from the file and from memory. Returns false if one of them has fewer
 * bytes. */
static bool read_both(const struct compared *c, uint64_t from, uint64_t at, size_t n, uint8_t *file,
                      uint8_t *there)
{
    return from <= INT64_MAX && at <= INT64_MAX &&
           pread(c->file, file, n, (off_t)from) == (ssize_t)n &&
           pread(c->mem, there, n, (off_t)at) == (ssize_t)n;
}

/* Compares the bytes of @m around the place with those of the file. Unreadable bytes count as
 * changed. */
static bool is_changed(const struct compared *c, const struct mapping *m)
{
    static const uint8_t NOP5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 }, CALL = 0xe8;
    uint8_t file[MAPPED_CODE_BYTES], there[MAPPED_CODE_BYTES];
    uint64_t before = MIN(c->place.offset - m->offset, MAPPED_CODE_BYTES / 2);
    uint64_t skipped = c->place.offset - before - m->offset; /* from the mapping's start */
    size_t n = MIN(before + MAPPED_CODE_BYTES / 2, m->end - m->start - skipped), probe;

    if (!read_both(c, m->offset + skipped, m->start + skipped, n, file, there))
        return true;
    for (size_t i = 0; i < n; i++) {
        probe = function_start_breakpoint(there + i, n - i);
        if ((probe || there[i] == CALL) && i + sizeof(NOP5) <= n &&
            memcmp(file + i, NOP5, sizeof(NOP5)) == 0)
            i += sizeof(NOP5) - 1; /* a no-op with a probe, which the kernel replaces by a call */
        else if (probe)
            i += probe - 1; /* the breakpoint of another probe */
        else if (there[i] != file[i])
            return true;
    }
    return false;
}

static bool look_at_code(const struct mapping *m, void *cookie)
{
    struct compared *c = cookie;

    if (!has_place(m, &c->place))
        return false;
    c->found = true;
    c->written = m->write;
    c->changed = is_changed(c, m);
    return c->written || c->changed;
}

static int refuse_code(const struct target *t, const char *why, struct error *err)
{
    error_set(err, -EPERM, "process %d %s", t->host_pid, why);
    error_remedy(err, "start the process again: a tool in it, such as another profiler, has "
                      "changed its code");
    return -EPERM;
}

int mapped_check_code(const struct target *t, const struct mapping_fields *at, int fd,
                      uint64_t offset, struct error *err)
{
    struct compared compared = { .file = fd };
    _cleanup_close_ int maps = -1, mem = -1;
    struct mapped of;
    int r = mapped_find(t, at->start, at->end, &of, err) ?:
            target_open_proc(t, "maps", &maps, err) ?: target_open_proc(t, "mem", &mem, err);

    if (r)
        return r;
    compared.place = (struct place){ &of, offset };
    compared.mem = mem;
    maps_search(maps, PROCMAP_EXEC | PROCMAP_FILE, look_at_code, &compared);
    if (compared.written)
        return refuse_code(
            t, "can write to the code of that function, and the kernel puts no probe there", err);
    if (compared.changed)
        return refuse_code(t,
                           "runs other code than its file has for that function: it was patched in "
                           "memory, and a probe would crash it",
                           err);
    return compared.found
               ? 0
               : error_set(err, -ESTALE, "process %d has not mapped that function", t->host_pid);
}

/* Opens the memory that holds the vdso, and gets its address there. The vdso of 64-bit processes is
 * read in this process: a target can write into its own copy, and the result is used for every
 * process. The vdso of a 32-bit process is read in that process. */
static int open_vdso_source(const struct target *t, const struct mapping_fields *q,
                            uint64_t *ret_at, int *ret_fd, struct error *err)
{
    unsigned long own = getauxval(AT_SYSINFO_EHDR);

    *ret_at = q->start;
    if (q->end <= UINT32_MAX || !own)
        return target_open_proc(t, "mem", ret_fd, err);
    *ret_at = own;
    *ret_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? error_errno(err, "cannot read this process's vdso") : 0;
}

/* Copies the bytes of the vdso without parsing them. */
static int open_vdso(const struct target *t, const struct mapping_fields *q, int *ret_fd,
                     struct error *err)
{
    static char copy[VDSO_MAX_BYTES];
    _cleanup_close_ int mem = -1;
    size_t n = q->end - q->start;
    uint64_t at = 0;
    ssize_t got;
    int r;

    if (n > sizeof(copy))
        return error_set(err, -EFBIG, "the vdso of process %d has more than %d bytes", t->host_pid,
                         VDSO_MAX_BYTES);
    r = open_vdso_source(t, q, &at, &mem, err);
    if (r)
        return r;
    got = pread(mem, copy, n, (off_t)at);
    if (got < 0)
        return error_errno(err, "cannot read the vdso of process %d", t->host_pid);
    return got == 0 ? PROC_GONE : memfd_of("vdso", copy, (size_t)got, ret_fd, err);
}

/* Opens the file through /proc/PID/map_files, which leads to the mapped file itself, even if that
 * is deleted, overlaid or moved. */
static int open_map_file(const struct target *t, const struct mapping_fields *q,
                         const struct file_rule *rule, int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = -1;
    char name[64];

    snprintf(name, sizeof(name), "map_files/%jx-%jx", (uintmax_t)q->start, (uintmax_t)q->end);
    fd = openat(t->dir_fd, name, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "cannot open %s of process %d", name, t->host_pid);
    return file_open(fd, name, rule, ret_fd, err);
}

/* Checks that @m is still mapped, so that its inode was not reused for another file during the
 * open. */
static int still_mapped(const struct target *t, const struct mapping_fields *q,
                        const struct mapped *m, struct error *err)
{
    struct mapped now;
    int r = mapped_find(t, q->start, q->end, &now, err);

    if (r == 0 &&
        (now.inode != m->inode || now.dev_major != m->dev_major || now.dev_minor != m->dev_minor))
        r = error_set(err, -ESTALE, "process %d has mapped another file there", t->host_pid);
    return r;
}

/* Opens the file by its name in the target's root, for the case that map_files is refused. The
 * inode must be that of the mapping. */
static int open_by_name(const struct target *t, const struct mapped *m,
                        const struct file_rule *rule, int *ret_fd, struct error *err)
{
    struct file_rule same = *rule;
    _cleanup_close_ int root = -1;
    int r;

    if (!m->path[0])
        return BROKER_ABSENT;
    r = target_open_root(t, &root, err);
    if (r)
        return r;
    same.inode = true;
    same.ino = m->inode;
    same.dev_major = m->dev_major;
    same.dev_minor = m->dev_minor;
    return root_open(root, m->path, &same, ret_fd, err);
}

/* Opens the file of the mapping @m, which @q names. */
static int open_mapped(const struct target *t, const struct mapping_fields *q,
                       const struct mapped *m, int *ret_fd, struct error *err)
{
    const struct file_rule rule = { .max_bytes = MAPPED_MAX_BYTES, .target = t };
    _cleanup_close_ int fd = -1;
    int r = open_map_file(t, q, &rule, ret_fd, err);

    if (r >= 0 || r == -EFBIG)
        return r;
    r = open_by_name(t, m, &rule, &fd, err) ?: still_mapped(t, q, m, err);
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}

/*
 * mapped. Safe: only a file that the target has mapped to execute, found by the kernel's own link
 * or checked by device and inode. So flamed gets no file that the target could not read itself. The
 * file is inspected before it is opened: regular files only, never a device. Read-only. The vdso is
 * a copy.
 */
int request_mapped(struct server *s, const struct mapping_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    struct mapped m = { 0 };
    _cleanup_close_ int fd = -1;
    int r;

    r = target_pin(s, &q->target, &t, &rep->err)
            ?: mapped_find(&t, q->start, q->end, &m, &rep->err);
    if (r)
        return r;
    if (m.vdso) {
        r = open_vdso(&t, q, &fd, &rep->err);
    } else if (m.inode == 0) {
        r = BROKER_ABSENT; /* anonymous memory: JIT code and the like */
    } else {
        r = open_mapped(&t, q, &m, &fd, &rep->err);
    }
    if (r == 0)
        r = target_check(&t);
    return r ? r : reply_fd(rep, take_fd(&fd));
}
