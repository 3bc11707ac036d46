/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and reads the jar of a JVM's program (jar.h). The JVM may open it some time after its
 * start, so the search is repeated while the JVM is young.
 */
#include "discover/table.h"

#include "base/text.h"
#include "discover/args.h"
#include "discover/service.h"
#include "proc/stall_readers.h"

#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM_JAR_TRIES_MAX 6

struct jar_reading {
    struct reading base; /* first */
    struct jar_facts facts;
    int fd;
};

/* Stops when the read was abandoned. */
static ssize_t read_file(void *cookie, uint64_t at, void *buf, size_t n)
{
    const struct jar_reading *j = cookie;
    ssize_t got = readers_next_page() ? pread(j->fd, buf, n, (off_t)at) : -1;

    return got < 0 ? -EIO : got;
}

static int run_reading(struct reading *r)
{
    struct jar_reading *j = (struct jar_reading *)r;
    struct stat st;

    if (fstat(j->fd, &st) < 0 || st.st_size < 0)
        return -EIO;
    return jar_read((uint64_t)st.st_size, read_file, j, &j->facts);
}

static void drop_reading(struct reading *r)
{
    struct jar_reading *j = (struct jar_reading *)r;

    close_fd(j->fd);
    free(j);
}

/* Reads the jar @fd of @id, and closes it. */
static int read_jar(const struct proc_id *id, int fd, struct jar_facts *ret)
{
    struct jar_reading *j = calloc(1, sizeof(*j));
    struct reading *r;
    int result;

    if (!j) {
        close_fd(fd);
        return -ENOMEM;
    }
    j->base = (struct reading){ .run = run_reading, .drop = drop_reading, .jvm = true };
    j->fd = fd;
    r = &j->base;
    result = readers_run(id, &r);
    if (r) {
        *ret = j->facts;
        drop_reading(r);
    }
    return result;
}

void program_jar_name(struct image *im, struct span cmdline)
{
    struct span name = SPAN_NULL;

    if (im->jar.tries || im->jar.name[0] || !args_jar(cmdline, span_of(im->p.main), &name))
        return;
    if (name.n < sizeof(im->jar.name) && name.p[0] != '.')
        span_copy(name, im->jar.name, sizeof(im->jar.name));
}

bool program_jar_wanted(const struct image *im)
{
    return im->jar.name[0] && im->jar.tries < PROGRAM_JAR_TRIES_MAX;
}

void program_jar_read(struct discover *d, struct image *im)
{
    struct service *s = im->p.service;
    struct jar_facts facts = { 0 };
    int fd = -1;

    if (!s || !d->source->program_jar || !program_jar_wanted(im))
        return;
    im->jar.tries++;
    if (d->source->program_jar(d->ctx, &im->p.id, im->jar.name, &fd, NULL) != 0)
        return;
    if (read_jar(&im->p.id, fd, &facts) == -ETIMEDOUT)
        return;
    im->jar.tries = PROGRAM_JAR_TRIES_MAX;
    im->jar.facts = facts;
    program_jar_use(im);
}

void program_jar_use(const struct image *im)
{
    struct service *s = im->p.service;

    if (!s || !im->jar.facts.identity)
        return;
    text_clean_into(span_of(im->jar.name), s->jar.name, sizeof(s->jar.name));
    s->jar.facts = im->jar.facts;
}
