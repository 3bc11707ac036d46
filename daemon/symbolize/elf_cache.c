/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memfd_copy.h"
#include "symbolize/elf_cache_impl.h"

int elf_cache_new(size_t files_max, bool background, int wake_fd, struct memory_budget *memory,
                  struct elf_cache **ret)
{
    struct elf_cache *c = calloc(1, sizeof(*c));
    int r = 0;

    if (!c)
        return -ENOMEM;
    c->memory = memory;
    c->now_ns = clock_monotonic_ns();
    c->count = MAX(files_max, (size_t)1);
    c->slots = calloc(c->count, sizeof(*c->slots));
    if (!c->slots)
        r = -ENOMEM;
    else if (background)
        r = worker_new("flamed-symbols", 2 * ELF_CACHE_READINGS_ALL, wake_fd, &c->worker);
    if (r < 0) {
        elf_cache_free(c);
        return r;
    }
    c->key = fingerprint_key_new();
    shares_init(&c->places, ELF_CACHE_READINGS_ALL);
    *ret = c;
    return 0;
}

static void keep(struct work *work)
{
    (void)work; /* the reading stays in the cache's list, which frees it */
}

struct elf_cache *elf_cache_free(struct elf_cache *c)
{
    if (!c)
        return NULL;
    worker_free(c->worker, keep);
    for (size_t i = 0; i < c->reading_count; i++)
        elf_reading_free(c->readings[i]);
    for (size_t i = 0; c->slots && i < c->count; i++) {
        if (c->slots[i].image)
            slot_clear(c, &c->slots[i]);
    }
    free(c->slots);
    free(c);
    return NULL;
}

/* ---- images ---- */

struct elf_image *elf_cache_get(struct elf_cache *c, struct elf_ref ref)
{
    struct elf_slot *s = &c->slots[ref.slot];

    if (!ref.serial || !s->image || s->serial != ref.serial)
        return NULL;
    s->used = ++c->turn;
    s->used_ns = c->now_ns;
    return s->image;
}

const struct elf_headers *elf_cache_headers(const struct elf_cache *c, struct elf_ref ref)
{
    const struct elf_slot *s = &c->slots[ref.slot];

    return ref.serial && s->image && s->serial == ref.serial ? &s->headers : NULL;
}

void elf_cache_forget_strings(struct elf_cache *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->slots[i].image)
            symbol_table_forget_strings(&c->slots[i].image->symbols);
    }
}

void elf_cache_stats(const struct elf_cache *c, struct elf_cache_stats *ret)
{
    *ret = c->stats;
    ret->reading = c->reading_count;
}

/* ---- readings ---- */

static void advance(struct elf_cache *c, struct elf_reading *r);
static void read_next(struct elf_cache *c, struct elf_reading *r);

static void begin_step(struct elf_cache *c, struct elf_reading *r, enum elf_step step)
{
    r->step = step;
    if (c->worker && worker_put(c->worker, &r->work))
        return;
    r->work.run(&r->work); /* without a thread, or without a place there, reads the file here */
    advance(c, r);
}

/* Ends @r and frees it. @s: its image, or NULL if it has failed with r->outcome. Continues a
 * reading that waited for @r. */
static void finish(struct elf_cache *c, struct elf_reading *r, struct elf_slot *s)
{
    struct elf_result *result = &c->results[r->ticket % RESULTS_MAX];
    struct elf_keys keys = r->keys;

    *result = (struct elf_result){ .ticket = r->ticket, .outcome = r->outcome };
    if (s) {
        s->keys = keys;
        s->headers = r->headers;
        result->ref = slot_ref(c, s);
    }
    c->stats.failed += r->outcome < 0;
    c->stats.unanswered += r->outcome == -ETIMEDOUT;
    if (r->report && r->outcome < 0)
        *r->report = r->err;
    for (size_t i = 0; i < c->reading_count; i++) {
        if (c->readings[i] == r)
            c->readings[i--] = c->readings[--c->reading_count];
    }
    shares_give(&c->places, r->owner, 1);
    elf_reading_free(r);
    for (size_t i = 0; i < c->reading_count; i++) {
        struct elf_reading *other = c->readings[i];

        if (other->waits && elf_keys_equal(&other->keys, &keys)) {
            other->waits = false;
            read_next(c, other);
            return; /* the list has changed; the end of @other continues any further reading */
        }
    }
}

/* Returns another reading that already reads the symbols of the same files; NULL: none. */
static struct elf_reading *find_reading(const struct elf_cache *c, const struct elf_reading *r)
{
    for (size_t i = 0; i < c->reading_count; i++) {
        struct elf_reading *o = c->readings[i];

        if (o != r && o->step == ELF_STEP_READ && !o->waits && elf_keys_equal(&o->keys, &r->keys))
            return o;
    }
    return NULL;
}

/* Reads the symbols of @r after all its files are known, unless an image or another reading has the
 * same files. */
static void read_next(struct elf_cache *c, struct elf_reading *r)
{
    struct elf_slot *s = slot_by_keys(c, &r->keys, r->owner);
    struct elf_reading *other = s ? NULL : find_reading(c, r);

    if (s) {
        finish(c, r, s);
        return;
    }
    if (other) {
        worker_hurry(c->worker, &other->work, r->owner);
        r->step = ELF_STEP_READ;
        r->waits = true;
        return;
    }
    r->known = calloc(c->count, sizeof(*r->known));
    for (size_t i = 0; r->known && i < c->count; i++) {
        if (c->slots[i].image && c->slots[i].print)
            r->known[r->known_count++] = c->slots[i].print;
    }
    begin_step(c, r, ELF_STEP_READ);
}

/* Continues @r after a step. */
static void advance(struct elf_cache *c, struct elf_reading *r)
{
    struct elf_slot *s;

    if (r->outcome < 0) {
        finish(c, r, NULL);
        return;
    }
    if (r->step == ELF_STEP_OPEN) {
        r->outcome = elf_reading_find_debug(r);
        if (r->outcome < 0)
            finish(c, r, NULL);
        else
            read_next(c, r);
        return;
    }
    s = slot_by_print(c, r->print);
    if (!s && r->image)
        s = slot_store(c, r);
    if (!s) { /* the image has been evicted since */
        r->known_count = 0;
        begin_step(c, r, ELF_STEP_READ);
        return;
    }
    finish(c, r, s);
}

/* Returns the image of the file of @r, if the file and its possible debug file were read before;
 * NULL otherwise. */
static struct elf_slot *find_read(struct elf_cache *c, struct elf_reading *r)
{
    const struct elf_headers *headers = headers_by_keys(c, &r->keys);
    struct elf_slot *s;

    if (!headers)
        return NULL;
    r->headers = *headers;
    s = elf_reading_find_debug(r) == 0 ? slot_by_keys(c, &r->keys, r->owner) : NULL;
    if (!s)
        elf_reading_forget_debug(r);
    return s;
}

/* Begins to read @fd and takes it. Returns the results of elf_cache_settle(). */
static int begin(struct elf_cache *c, uint64_t owner, const struct symbol_files *files,
                 const struct proc_id *id, uint64_t start, uint64_t end, int fd,
                 struct elf_ref *ret, struct error *err)
{
    struct elf_reading *r =
        elf_reading_new(fd, owner, files, id, start, end, &c->key, &c->memory->copies);
    struct elf_slot *s = r ? find_read(c, r) : NULL;
    struct elf_ref ref = ELF_REF_NULL;

    if (!r)
        return -ENOMEM;
    if (s) {
        elf_reading_free(r);
        *ret = slot_ref(c, s);
        return 0;
    }
    r->ticket = ref.ticket = ++c->last_ticket;
    r->report = c->worker ? NULL : err;
    c->readings[c->reading_count++] = r;
    shares_force(&c->places, owner, 1);
    c->results[r->ticket % RESULTS_MAX] =
        (struct elf_result){ .ticket = r->ticket, .outcome = ELF_CACHE_PENDING };
    begin_step(c, r, ELF_STEP_OPEN);
    *ret = ref;
    return elf_cache_settle(c, ret);
}

int elf_cache_load(struct elf_cache *c, uint64_t owner, const struct symbol_files *files,
                   const struct proc_id *id, uint64_t start, uint64_t end, struct elf_ref *ret,
                   struct error *err)
{
    int fd = -1, r;

    *ret = ELF_REF_NULL;
    if (!shares_room(&c->places, owner))
        return ELF_CACHE_PENDING; /* the caller has to call again */
    r = files->mapped(files->cookie, id, start, end, &fd, err);
    if (r == 0 && sealed_bytes(fd) > shares_room(&c->memory->copies, owner)) {
        close_fd(fd);
        return error_set(err, -EBUSY, "too many copies of files are being read");
    }
    if (r == 0)
        return begin(c, owner, files, id, start, end, fd, ret, err);
    c->stats.failed += r < 0;
    c->stats.unanswered += r == -ETIMEDOUT;
    return r;
}

int elf_cache_settle(const struct elf_cache *c, struct elf_ref *ref)
{
    const struct elf_result *result = &c->results[ref->ticket % RESULTS_MAX];

    if (!ref->ticket || result->ticket != ref->ticket)
        return -EAGAIN;
    if (result->outcome == 0)
        *ref = result->ref;
    return result->outcome;
}

bool elf_cache_poll(struct elf_cache *c)
{
    size_t before = c->reading_count;
    struct work *work;

    c->now_ns = clock_monotonic_ns();
    slots_try_again(c);
    while (c->worker && (work = worker_take(c->worker)))
        advance(c, (struct elf_reading *)work);
    return c->reading_count < before;
}

bool elf_cache_wait(struct elf_cache *c, uint64_t deadline_ns)
{
    return c->worker && worker_wait(c->worker, deadline_ns);
}
