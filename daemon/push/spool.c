/* SPDX-License-Identifier: Apache-2.0 */
#include "push/spool.h"

#include "base/cleanup.h"
#include "base/dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "push"
#define NAME_BYTES 96
#define TRIES_MAX 10 /* readings of a body that the disk refuses; then it is lost */

struct entry {
    uint64_t begin_ns, number, bytes;
    char *body; /* owned; NULL: its file has the bytes */
};

struct spool {
    int fd; /* the folder; -1: none */
    const char *kind;
    uint64_t max_bytes, max_age_ns;
    struct entry *entries; /* [SPOOL_ENTRIES_MAX]: a ring, oldest first */
    size_t first, count;
    uint64_t number;  /* of the next body */
    uint64_t next_ns; /* from spool_set_next(); stored as the name of an empty file */
    uint64_t bytes, memory_bytes;
    unsigned tries; /* how often the first body could not be read */
    struct spool_stats stats;
};

static struct entry *at(struct spool *s, size_t i)
{
    return &s->entries[(s->first + i) % SPOOL_ENTRIES_MAX];
}

/* ---- files ---- */

/* Writes a file's name, such as "00000001763688400-000000000000002a.otlp". The order of names is
 * the order of age. */
static void name_of(const struct spool *s, const struct entry *e, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%020llu-%016llx.%s", (unsigned long long)e->begin_ns,
             (unsigned long long)e->number, s->kind);
}

static bool parse_name(const struct spool *s, const char *name, struct entry *ret)
{
    char again[NAME_BYTES];
    struct span rest = span_of(name);
    struct entry e = { 0 };

    if (!span_take_dec(&rest, &e.begin_ns) || !span_take_char(&rest, '-') ||
        !span_take_hex(&rest, &e.number))
        return false;
    name_of(s, &e, again);
    if (strcmp(again, name) != 0)
        return false;
    *ret = e;
    return true;
}

static void next_name(uint64_t next_ns, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "next-%llu", (unsigned long long)next_ns);
}

/* Reads the name of a file that stores the next minute. Of two such files, keeps the later one. */
static bool load_next(struct spool *s, const char *name)
{
    struct span rest = span_of(name);
    char old[NAME_BYTES];
    uint64_t next_ns;

    if (!span_take_str(&rest, "next-") || !span_parse_dec(rest, &next_ns) || next_ns <= s->next_ns)
        return false;
    next_name(s->next_ns, old);
    unlinkat(s->fd, old, 0);
    s->next_ns = next_ns;
    return true;
}

ORDER_FUNCTION(by_age, struct entry,
               COMPARE(x->begin_ns, y->begin_ns) ?: COMPARE(x->number, y->number))

/* Loads the files of the folder. Removes files that are foreign, of another kind, or beyond a
 * limit. */
static void load(struct spool *s)
{
    _cleanup_closedir_ DIR *dir = dir_open(s->fd, ".");
    const struct dirent *d;

    if (!dir)
        return;
    while ((d = readdir(dir))) {
        struct entry e;
        struct stat st;

        if (d->d_name[0] == '.' && (!d->d_name[1] || d->d_name[1] == '.'))
            continue;
        if (load_next(s, d->d_name))
            continue;
        if (s->count == SPOOL_ENTRIES_MAX || !parse_name(s, d->d_name, &e) ||
            fstatat(s->fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            st.st_size <= 0 || (uint64_t)st.st_size > SPOOL_BODY_MAX) {
            unlinkat(s->fd, d->d_name, 0);
            continue;
        }
        e.bytes = (uint64_t)st.st_size;
        s->entries[s->count++] = e;
        s->bytes += e.bytes;
        s->number = MAX(s->number, e.number + 1);
    }
    qsort(s->entries, s->count, sizeof(*s->entries), by_age);
}

static int open_folder(int store_fd, const char *name)
{
    _cleanup_close_ int all = -1;

    if (store_fd < 0 || (mkdirat(store_fd, FOLDER, 0700) < 0 && errno != EEXIST))
        return -1;
    all = openat(store_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (all < 0 || (mkdirat(all, name, 0700) < 0 && errno != EEXIST))
        return -1;
    return openat(all, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

int spool_open(const struct spool_opts *o, struct spool **ret)
{
    struct spool *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->entries = calloc(SPOOL_ENTRIES_MAX, sizeof(*s->entries));
    if (!s->entries) {
        free(s);
        return -ENOMEM;
    }
    s->kind = o->kind;
    s->max_bytes = o->max_bytes;
    s->max_age_ns = o->max_age_ns;
    s->fd = open_folder(o->store_fd, o->name);
    if (s->fd >= 0)
        load(s);
    *ret = s;
    return 0;
}

struct spool *spool_close(struct spool *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        free(at(s, i)->body);
    close_fd(s->fd);
    free(s->entries);
    free(s);
    return NULL;
}

/* ---- bodies ---- */

static void remove_first(struct spool *s)
{
    struct entry *e = at(s, 0);
    char name[NAME_BYTES];

    if (!s->count)
        return;
    s->bytes -= e->bytes;
    if (e->body) {
        s->memory_bytes -= e->bytes;
        free(e->body);
        e->body = NULL;
    } else {
        name_of(s, e, name);
        unlinkat(s->fd, name, 0);
    }
    s->first = (s->first + 1) % SPOOL_ENTRIES_MAX;
    s->count--;
    s->tries = 0;
}

/* Only the first body can be removed: bodies are sent in order, so a body under way is the first
 * one or is gone. */
void spool_remove(struct spool *s, uint64_t number)
{
    if (s->count && at(s, 0)->number == number)
        remove_first(s);
}

static void lose_first(struct spool *s, enum spool_loss why)
{
    remove_first(s);
    s->stats.lost[why]++;
}

/* Writes a new file, whole or not at all. */
static bool write_file(const struct spool *s, const struct entry *e, struct span body)
{
    _cleanup_close_ int fd = -1;
    char name[NAME_BYTES];

    if (s->fd < 0)
        return false;
    name_of(s, e, name);
    fd = openat(s->fd, ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd >= 0 && body.n) {
        ssize_t n = write(fd, body.p, body.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        body = span_from(body, (size_t)n);
    }
    if (fd >= 0 && !body.n && renameat(s->fd, ".new", s->fd, name) == 0)
        return true;
    unlinkat(s->fd, ".new", 0);
    return false;
}

int spool_add(struct spool *s, uint64_t begin_ns, struct span body)
{
    struct entry e = { .begin_ns = begin_ns, .number = s->number, .bytes = body.n };

    if (body.n > SPOOL_BODY_MAX || body.n > s->max_bytes) {
        s->stats.lost[SPOOL_TOO_MUCH]++;
        return -EFBIG;
    }
    while (s->count && (s->bytes + body.n > s->max_bytes || s->count == SPOOL_ENTRIES_MAX))
        lose_first(s, SPOOL_TOO_MUCH);
    s->stats.in_memory = !write_file(s, &e, body);
    if (s->stats.in_memory) {
        e.body = s->memory_bytes + body.n <= SPOOL_MEMORY_BYTES ? malloc(body.n + 1) : NULL;
        if (!e.body) {
            s->stats.lost[SPOOL_TOO_MUCH]++;
            return -ENOMEM;
        }
        memcpy(e.body, body.p, body.n);
        s->memory_bytes += body.n;
    }
    s->number++;
    s->bytes += body.n;
    *at(s, s->count++) = e;
    return 0;
}

void spool_set_next(struct spool *s, uint64_t begin_ns)
{
    _cleanup_close_ int fd = -1;
    char old[NAME_BYTES], name[NAME_BYTES];

    if (s->fd < 0)
        return;
    next_name(s->next_ns, old);
    next_name(begin_ns, name);
    if (!s->next_ns || renameat(s->fd, old, s->fd, name) < 0)
        fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    s->next_ns = begin_ns;
}

uint64_t spool_next(const struct spool *s)
{
    return s->next_ns;
}

uint64_t spool_newest(const struct spool *s)
{
    return s->count ? s->entries[(s->first + s->count - 1) % SPOOL_ENTRIES_MAX].begin_ns : 0;
}

void spool_expire(struct spool *s, uint64_t now_ns)
{
    while (s->count && at(s, 0)->begin_ns < now_ns && now_ns - at(s, 0)->begin_ns > s->max_age_ns)
        lose_first(s, SPOOL_TOO_OLD);
}

/* Reads the first body. Returns 0, or -errno; -EBADMSG: its file has another size. */
static int read_first(struct spool *s, struct buf *ret)
{
    const struct entry *e = at(s, 0);
    char name[NAME_BYTES];
    int r = 0;

    buf_clear(ret);
    if (e->body) {
        buf_add(ret, e->body, e->bytes);
    } else {
        name_of(s, e, name);
        r = buf_read_at(ret, s->fd, name);
    }
    return r ?: ret->error ?: ret->n == e->bytes ? 0 : -EBADMSG;
}

/* Returns whether the first body, which could not be read, may be readable later. */
static bool may_pass(struct spool *s, int error)
{
    if (error == -EMFILE || error == -ENFILE || error == -ENOMEM) /* it is not the body's fault */
        return true;
    return error != -ENOENT && error != -EBADMSG && error != -EFBIG && ++s->tries < TRIES_MAX;
}

bool spool_first(struct spool *s, struct buf *ret, uint64_t *ret_number)
{
    while (s->count) {
        int r = read_first(s, ret);

        if (r == 0) {
            s->tries = 0;
            *ret_number = at(s, 0)->number;
            return true;
        }
        if (may_pass(s, r))
            return false;
        lose_first(s, SPOOL_UNREADABLE);
    }
    return false;
}

bool spool_is_empty(const struct spool *s)
{
    return s->count == 0;
}

void spool_stats(const struct spool *s, struct spool_stats *ret)
{
    *ret = s->stats;
    ret->bodies = s->count;
    ret->bytes = s->bytes;
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entries[(s->first + i) % SPOOL_ENTRIES_MAX];

        ret->minutes +=
            i == 0 || e->begin_ns != s->entries[(s->first + i - 1) % SPOOL_ENTRIES_MAX].begin_ns;
        if (i == 0)
            ret->oldest_ns = e->begin_ns;
    }
}
