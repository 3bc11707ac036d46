/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/table.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "base/places.h"
#include "base/text.h"
#include "discover/memory_history.h"
#include "proc/stall_readers.h"

#define TABLE_NEARLY_FULL (DISCOVER_PROCESSES_MAX / 4 * 3)
/* Entries to keep free, by evicting those of owners that have more than their part. */
#define TABLE_FREE (DISCOVER_PROCESSES_MAX / 16)
#define TABLE_OWN                                                                                  \
    (DISCOVER_PROCESSES_MAX / 4) /* entries of an owner; beyond it its own go first                \
                                  */
#define TABLE_PAYERS_AT_ONCE 128 /* owners read at once, at two readings each */
#define TABLE_EVICT_BUCKETS 256  /* most buckets searched to make room for an entry */

static struct image **bucket(struct discover *d, int32_t host_pid)
{
    return &d->buckets[(uint32_t)host_pid & (DISCOVER_BUCKETS - 1)];
}

static struct image *same_pid(struct image *im, int32_t host_pid)
{
    while (im && im->p.id.host_pid != host_pid)
        im = im->next;
    return im;
}

struct image *table_newest(const struct discover *d, int32_t host_pid)
{
    return same_pid(d->buckets[(uint32_t)host_pid & (DISCOVER_BUCKETS - 1)], host_pid);
}

struct image *image_older(const struct image *im)
{
    return same_pid(im->next, im->p.id.host_pid);
}

void image_set_text(char **field, struct span raw, size_t max)
{
    struct buf b;
    char *text;

    buf_init(&b, max);
    text_clean(raw, TEXT_UTF8, max, &b);
    text = buf_take(&b, NULL);
    buf_deinit(&b);
    if (!text)
        return;
    free(*field);
    *field = text;
}

void image_set_comm(struct image *im, struct span comm)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    bool unnamed = !im->facts || !im->p.command[0];

    buf_init(&b, sizeof(im->p.comm) - 1);
    text_clean(comm, TEXT_UTF8, sizeof(im->p.comm) - 1, &b);
    if (b.n)
        span_copy(buf_span(&b), im->p.comm, sizeof(im->p.comm));
    if (unnamed)
        image_set_text(&im->p.command, span_of(im->p.comm), DISCOVER_COMMAND_MAX);
}

static void close_vm(struct process *p)
{
    p->vm = hotspot_vm_close(p->vm);
    p->mem_fd = close_fd(p->mem_fd);
    free(TAKE_PTR(p->counters));
    if (p->history)
        memory_history_deinit(p->history);
    free(TAKE_PTR(p->history));
    p->counters_off = false;
}

/* Resets all facts of the image except its identity and comm. */
static void reset_image(struct image *im)
{
    struct process *p = &im->p;

    residence_forget(im);
    close_vm(p);
    p->jvm = JVM_NO;
    p->native_image = IMAGE_NO;
    p->reason[0] = p->java_version[0] = p->vm_name[0] = '\0';
    p->jdk = 0;
    p->frame_pointers = p->debug_non_safepoints = p->attach_disabled = false;
    p->libjvm_base = 0;
    free(TAKE_PTR(p->service));
    if (p->main)
        p->main[0] = '\0';
    if (p->args)
        p->args[0] = '\0';
    p->exec_id = 0;
    p->payer = 0;
    p->owner = 0; /* the new program may be set-user-ID */
    p->rootless = false;
    im->facts = false;
    im->facts_ns = im->look.last_ns = im->look.last_vsize_bytes = 0;
    im->look.vm_since_ns = im->look.vm_retry_ns = 0;
    im->words = (struct image_words){ 0 };
    im->jar = (struct image_jar){ 0 };
    im->look.flags_missing = false;
    buf_deinit(&im->published);
    im->first_sample_ns = 0;
    im->unseen_execs = 0;
    im->look.due_ns = im->look.timer_ns = UINT64_MAX;
}

static void image_free(struct image *im)
{
    if (!im)
        return;
    residence_forget(im);
    close_vm(&im->p);
    free(im->p.command);
    free(im->p.cgroup);
    free(im->p.main);
    free(im->p.args);
    free(im->p.service);
    buf_deinit(&im->published);
    free(im);
}

static struct image *image_new(const struct proc_id *id, struct span comm)
{
    struct image *im = calloc(1, sizeof(*im));

    if (!im)
        return NULL;
    im->p.mem_fd = -1;
    im->p.id = *id;
    im->p.container_uid = -1;
    im->p.command = strdup("");
    im->p.cgroup = strdup("");
    im->p.main = strdup("");
    im->p.args = strdup("");
    im->end_ns = UINT64_MAX;
    im->look.due_ns = im->look.timer_ns = UINT64_MAX;
    if (!im->p.command || !im->p.cgroup || !im->p.main || !im->p.args) {
        image_free(im);
        return NULL;
    }
    image_set_comm(im, comm);
    return im;
}

static void tell_dropped(struct discover *d, struct image *im)
{
    if (d->opts.dropped)
        d->opts.dropped(d->opts.dropped_cookie, &im->p);
}

static void all_append(struct discover *d, struct image *im)
{
    im->all_prev = d->all_last;
    if (d->all_last)
        d->all_last->all_next = im;
    else
        d->all = im;
    d->all_last = im;
}

static void all_remove(struct discover *d, struct image *im)
{
    if (im->all_prev)
        im->all_prev->all_next = im->all_next;
    else
        d->all = im->all_next;
    if (im->all_next)
        im->all_next->all_prev = im->all_prev;
    else
        d->all_last = im->all_prev;
}

static void unlink_and_free(struct discover *d, struct image *im)
{
    struct image **at = bucket(d, im->p.id.host_pid);

    while (*at != im)
        at = &(*at)->next;
    *at = im->next;
    all_remove(d, im);
    d->count--;
    image_free(im);
}

void table_drop(struct discover *d, struct image *im)
{
    tell_dropped(d, im);
    unlink_and_free(d, im);
}

/* Frees an image, if all holders of its pins release them in the callback. */
static bool try_drop(struct discover *d, struct image *im)
{
    if (!im->told || im->p.pins > im->told_pins) /* a late sample has pinned @im again */
        tell_dropped(d, im);
    im->told = true;
    im->told_pins = im->p.pins;
    if (im->p.pins)
        return false;
    unlink_and_free(d, im);
    return true;
}

/* Frees one entry that is no JVM and that no other code holds. Searches some buckets only. */
static bool evict_one(struct discover *d)
{
    if (d->in_each)
        return false;
    for (size_t i = 0; i < TABLE_EVICT_BUCKETS; i++) {
        struct image *im = d->buckets[d->evict_bucket++ & (DISCOVER_BUCKETS - 1)];

        for (; im; im = im->next) {
            if (!im->handed && !im->p.pins && im->p.jvm == JVM_NO) {
                table_drop(d, im);
                return true;
            }
        }
    }
    return false;
}

struct image *table_add(struct discover *d, const struct proc_id *id, struct image *older_than,
                        struct span comm)
{
    struct image **at, *im = NULL;

    if (d->count < DISCOVER_PROCESSES_MAX || (!older_than && evict_one(d)))
        im = image_new(id, comm);
    if (!im) {
        d->stats.table_full++;
        return NULL;
    }
    im->sweep = d->sweep.number;
    at = bucket(d, id->host_pid);
    if (older_than)
        at = &older_than->next;
    im->next = *at;
    *at = im;
    all_append(d, im);
    d->count++;
    d->scans.next_ns = 0;
    return im;
}

void image_end(struct discover *d, struct image *im, uint64_t time_ns, bool replaced)
{
    if (!image_is_live(im))
        return;
    d->jvms_changed += im->p.jvm != JVM_NO;
    im->end_ns = time_ns;
    im->p.replaced = replaced;
    im->p.exited = true;
    im->p.exited_ns = time_ns;
    im->revived = false;
    im->look.due_ns = im->look.timer_ns = UINT64_MAX;
    im->look.vm_retry_ns = 0;
}

struct image *image_replace(struct discover *d, struct image *im, uint64_t time_ns,
                            struct span comm)
{
    struct proc_id id = im->p.id;
    struct image *next = im;

    id.exec_no++;
    if (d->in_poll && !im->handed && !im->p.pins && image_is_live(im)) {
        reset_image(im); /* nothing holds the old image: reuse its entry */
        im->p.id = id;
        image_set_comm(im, comm);
    } else {
        im->p.replaced = true;
        image_end(d, im, time_ns, /* replaced= */ true);
        im->p.pins++; /* a full table does not evict it */
        next = table_add(d, &id, NULL, comm);
        im->p.pins--;
        if (!next)
            return NULL;
        /* Facts that an exec does not change. */
        memcpy(next->p.ns_pid, im->p.ns_pid, sizeof(next->p.ns_pid));
        next->p.ns_depth = im->p.ns_depth;
        next->p.uid = im->p.uid;
        next->p.container_uid = im->p.container_uid;
        next->p.container = im->p.container;
        image_set_text(&next->p.cgroup, span_of(im->p.cgroup), DISCOVER_CGROUP_MAX);
        next->older = im->older;
        next->newer = im->newer;
    }
    next->begin_ns = next->p.exec_time_ns = time_ns;
    jvm_schedule(d, next);
    return next;
}

/* Frees at most @max images that ended at @until_ns or earlier. */
static void expire(struct discover *d, uint64_t until_ns, size_t max)
{
    struct image *next;

    for (struct image *im = d->all; im && max; im = next) {
        next = im->all_next;
        if (!image_is_live(im) && im->end_ns <= until_ns && try_drop(d, im))
            max--;
    }
}

/* Frees @excess of the ended images, the oldest first. */
static void expire_oldest(struct discover *d, size_t excess)
{
    _cleanup_free_ uint64_t *ends = calloc(d->count, sizeof(*ends));
    size_t n = 0;

    if (!ends)
        return;
    for (const struct image *im = d->all; im; im = im->all_next) {
        if (!image_is_live(im))
            ends[n++] = im->end_ns;
    }
    qsort(ends, n, sizeof(*ends), list_compare_u64);
    if (n)
        expire(d, ends[MIN(n, excess) - 1], excess);
}

uint64_t process_payer(struct process *p)
{
    if (!p->payer)
        p->payer = readers_owner(&p->id);
    return p->payer;
}

/* Counts the entries of each owner. Returns the owner with most entries; 0: no owner has more than
 * its part. */
static uint64_t find_crowd(struct discover *d)
{
    struct places of = { .most = 0 };
    unsigned asked = 0;
    uint64_t crowd = 0;

    for (struct image *im = d->all; im; im = im->all_next) {
        if (!im->p.payer && (!image_is_live(im) || asked++ >= TABLE_PAYERS_AT_ONCE))
            continue;
        places_take(&of, process_payer(&im->p));
        if (shares_used(&of.shares, im->p.payer) == of.most)
            crowd = im->p.payer;
    }
    return of.most > TABLE_OWN ? crowd : 0;
}

/* Frees up to @excess entries of the owner @crowd, running or not. @jvms: frees JVMs, else other
 * processes. Later samples add the processes again. Returns what is left of @excess. */
static size_t drop_of_crowd(struct discover *d, uint64_t crowd, bool jvms, size_t excess)
{
    struct image *next;

    for (struct image *im = d->all; im && excess; im = next) {
        next = im->all_next;
        if (im->p.payer == crowd && (im->p.jvm != JVM_NO) == jvms && try_drop(d, im)) {
            d->stats.table_full++;
            excess--;
        }
    }
    return excess;
}

/* Frees entries of an owner that crowds the table, so that others find room. */
static void leave_room(struct discover *d)
{
    size_t excess = d->count - (DISCOVER_PROCESSES_MAX - TABLE_FREE);
    uint64_t crowd = find_crowd(d);

    if (crowd)
        excess = drop_of_crowd(d, crowd, /* jvms= */ false, excess);
    if (crowd && excess)
        drop_of_crowd(d, crowd, /* jvms= */ true, excess);
}

void table_expire(struct discover *d, uint64_t now_ns)
{
    if (now_ns < d->scans.expire_ns && d->count <= TABLE_NEARLY_FULL)
        return;
    d->scans.expire_ns = now_ns + NSEC_PER_SEC;
    expire(d, now_ns - MIN(now_ns, DISCOVER_KEEP_NS), SIZE_MAX);
    if (d->count > TABLE_NEARLY_FULL)
        expire_oldest(d, d->count - TABLE_NEARLY_FULL);
    if (d->count > DISCOVER_PROCESSES_MAX - TABLE_FREE)
        leave_room(d);
}
