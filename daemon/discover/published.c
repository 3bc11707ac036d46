/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and reads what the tracer of a JVM publishes about its service (process_context.h,
 * tracer_info.h), or keeps in the heap. A tracer publishes seconds after the JVM's start, so the
 * search is repeated while the JVM is young.
 */
#include "discover/table.h"

#include "base/cleanup.h"
#include "discover/process_context.h"
#include "discover/tracer_info.h"
#include "proc/maps_walk.h"
#include "proc/stall_readers.h"

/* Processor time for all mappings of a JVM; mappings beyond it are skipped. */
#define PUBLISHED_WALK_NS (20 * NSEC_PER_MSEC)
#define PUBLISHED_MAPPINGS_MAX 4 /* mappings OTEL_CTX; one is current */
#define PUBLISHED_READS_MAX 4    /* tries while the message changes */
#define PUBLISHED_FIRST_AGAIN_NS NSEC_PER_SEC
#define PUBLISHED_LAST_AGE_NS (300 * NSEC_PER_SEC)
#define PUBLISHED_KEYS_NS (60 * NSEC_PER_SEC) /* longest time between looks at a record's keys */

struct published_reading {
    struct reading base; /* first */
    uint64_t at[PUBLISHED_MAPPINGS_MAX];
    size_t count;
    struct thread_variable_objects objects;
    struct mapping begin; /* the last file mapped from its beginning; its path is not valid */
    int fd;
};

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Stores where a file with code is mapped from its beginning. Files without code are not read: one
 * may be an index of gigabytes on a network. */
static void take_object(const struct mapping *m, struct published_reading *s)
{
    struct thread_variable_objects *all = &s->objects;

    if (!m->inode || !span_starts_with(m->path, "/"))
        return;
    if (!m->offset && m->read)
        s->begin = *m;
    if (!m->exec || !is_same_file(m, &s->begin))
        return;
    all->musl |= span_starts_with(span_base_name(m->path), "ld-musl-");
    if (all->count < THREAD_VARIABLE_OBJECTS_MAX)
        all->bases[all->count++] = s->begin.start;
    s->begin.inode = 0; /* a further mapping with code belongs to the same object */
}

static bool take_mapping(const struct mapping *m, void *cookie)
{
    struct published_reading *s = cookie;

    if (process_context_path(m->path) && s->count < PUBLISHED_MAPPINGS_MAX)
        s->at[s->count++] = m->start;
    take_object(m, s);
    return false;
}

static int run_reading(struct reading *r)
{
    struct published_reading *s = (struct published_reading *)r;

    return MIN(maps_walk_text(s->fd, PUBLISHED_WALK_NS, take_mapping, s), 0);
}

static void drop_reading(struct reading *r)
{
    struct published_reading *s = (struct published_reading *)r;

    close_fd(s->fd);
    free(s);
}

/* Reads the maps file @fd of @id, and closes it. Returns the mappings found, which the caller
 * frees, or NULL. */
static struct published_reading *find_mappings(const struct proc_id *id, int fd)
{
    struct published_reading *s = calloc(1, sizeof(*s));
    struct reading *r;

    if (!s) {
        close_fd(fd);
        return NULL;
    }
    s->base = (struct reading){ .run = run_reading, .drop = drop_reading, .jvm = true };
    s->fd = fd;
    r = &s->base;
    if (readers_run(id, &r) == 0)
        return s;
    if (r)
        drop_reading(r);
    return NULL;
}

/* Reads the message of the header at @at into @message. Tries again if it changes while it is
 * read. */
static int read_message(const struct process *p, uint64_t at, uint8_t *message, size_t *ret_n)
{
    uint8_t before[PROCESS_CONTEXT_HEADER_BYTES], after[sizeof(before)];
    struct process_context_header header;

    for (int i = 0; i < PUBLISHED_READS_MAX; i++) {
        ssize_t n = readers_pread(&p->id, p->mem_fd, at, before, sizeof(before));
        int r = n == sizeof(before) ? process_context_header(before, &header) : -EIO;

        if (r < 0)
            return r;
        if (!header.published_ns)
            continue;
        n = header.bytes ? readers_pread(&p->id, p->mem_fd, header.address, message, header.bytes)
                         : 0;
        if (n == -ETIMEDOUT)
            return -ETIMEDOUT;
        if (n != (ssize_t)header.bytes) /* the message has changed, or the header is false */
            continue;
        n = readers_pread(&p->id, p->mem_fd, at, after, sizeof(after));
        if (n == sizeof(after) && memcmp(before, after, sizeof(after)) == 0) {
            *ret_n = header.bytes;
            return 0;
        }
    }
    return -EAGAIN;
}

/* Takes what @message says about the records of threads, and searches @objects for their variable.
 * A message with an error changes nothing. */
static void use_record(struct image *im, struct span message,
                       const struct thread_variable_objects *objects)
{
    struct thread_record r = { 0 }, *known = im->p.vm ? hotspot_vm_record(im->p.vm) : NULL;

    if (!known || process_context_record(message, &r) < 0)
        return;
    r.number = known->number;
    r.there = r.known && known->there;
    r.variable = known->variable;
    if (r.known && !r.there)
        r.there = hotspot_vm_thread_variable(im->p.vm, objects, &r.variable) == 0;
    if (memcmp(&r, known, sizeof(r)) == 0)
        return;
    r.number++;
    *known = r;
}

/* Appends the tracer's message in a mapping of @im to @out. */
static void add_context(struct discover *d, struct image *im, struct buf *out)
{
    struct published_reading *s;
    uint8_t *message;
    bool found = false;
    size_t n = 0;
    int fd = -1;

    if (d->source->maps(d->ctx, &im->p.id, &fd, NULL) != 0)
        return;
    s = find_mappings(&im->p.id, fd);
    if (!s)
        return;
    message = s->count ? malloc(PROCESS_CONTEXT_BYTES_MAX) : NULL;
    for (size_t i = 0; message && i < s->count && !found; i++) {
        struct span all = { (const char *)message, 0 };

        found = read_message(&im->p, s->at[i], message, &n) == 0;
        all.n = n;
        found = found && process_context_attributes(all, out) == 0;
        if (found)
            use_record(im, all, &s->objects);
    }
    free(message);
    drop_reading(&s->base);
}

/* Appends the tracer's message in a file. It comes first, and the first of two equal names
 * counts. */
static void add_info(struct discover *d, struct image *im, struct buf *out)
{
    _cleanup_buf_ struct buf info = BUF_UPTO(TRACER_INFO_BYTES_MAX);
    _cleanup_close_ int fd = -1;

    if (!d->source->tracer_info || d->source->tracer_info(d->ctx, &im->p.id, &fd, NULL) != 0)
        return;
    if (buf_read_fd(&info, fd) == 0)
        tracer_info_attributes(buf_span(&info), out);
}

bool published_read(struct discover *d, struct image *im)
{
    _cleanup_buf_ struct buf words = BUF_UPTO(PROCESS_CONTEXT_BYTES_MAX);

    if (im->p.mem_fd < 0)
        return false;
    add_info(d, im, &words);
    add_context(d, im, &words);
    if (im->p.vm)
        process_context_words(hotspot_vm_resource(im->p.vm), &words);
    if (!words.n || words.error || span_eq(buf_span(&words), buf_span(&im->published)))
        return false;
    buf_deinit(&im->published);
    im->published = words;
    words = BUF_NULL;
    return true;
}

uint64_t published_next_ns(const struct discover *d, const struct image *im, uint64_t now_ns)
{
    uint64_t start_ns =
        im->p.exec_time_ns ? im->p.exec_time_ns : monotonic_of_ticks(d, im->p.id.start_ticks);
    /* The heap is read later than the rest. A JVM also counts as young shortly after flamed has
     * opened it. */
    uint64_t since_ns = MAX(start_ns, im->look.vm_since_ns);
    uint64_t age_ns = now_ns - MIN(now_ns, since_ns);

    if (im->p.vm && hotspot_vm_record(im->p.vm)->known)
        return now_ns + CLAMP(age_ns, PUBLISHED_FIRST_AGAIN_NS, PUBLISHED_KEYS_NS);
    return age_ns < PUBLISHED_LAST_AGE_NS ? now_ns + MAX(age_ns, PUBLISHED_FIRST_AGAIN_NS) : 0;
}
