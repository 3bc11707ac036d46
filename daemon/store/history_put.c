/* SPDX-License-Identifier: Apache-2.0 */
/* Writes minutes, each in one transaction: whole or not at all. */
#include "base/array.h"
#include "base/lock.h"
#include "store/blob.h"
#include "store/history_impl.h"

#define PUT_LEAST_JUMP_NS ((int64_t)NSEC_PER_SEC)

/* The key of a part: a JVM, or all other processes of an owner. No padding. */
struct group_key {
    uint64_t start_ticks;
    int32_t host_pid; /* 0: all other processes of the owner */
    uint32_t exec_no;
    uint32_t owner, zero;
};

struct group {
    struct tally tally;
    struct history_image image; /* as its first sample shows it; strings point into a slice */
    int64_t n;                  /* row of the image; 0: only its samples are known yet */
};

struct minute {
    struct id_table keys;  /* struct group_key */
    struct group **groups; /* [keys.count] */
    size_t cap;
    uint64_t names_left_out;
    int r; /* -ENOMEM if there was no memory for a group */
};

static void minute_deinit(struct minute *m)
{
    for (uint32_t i = 0; i < m->keys.count && i < m->cap; i++) {
        if (m->groups[i])
            tally_deinit(&m->groups[i]->tally);
        free(m->groups[i]);
    }
    free(m->groups);
    id_table_deinit(&m->keys);
}

static const char *text_of(const struct profile *p, uint32_t id)
{
    return intern_get(p->strings, id).p;
}

static void group_image(const struct profile *p, const struct profile_process *process,
                        const struct group_key *key, struct history_image *ret)
{
    bool jvm = key->host_pid > 0;

    *ret = (struct history_image){
        .host_pid = key->host_pid,
        .start_ticks = key->start_ticks,
        .exec_no = key->exec_no,
        .owner = key->owner,
        .name = jvm ? text_of(p, process->name) : "",
        .container = jvm ? text_of(p, process->container) : "",
        .pod = jvm ? text_of(p, process->pod) : "",
        .pod_namespace = jvm ? text_of(p, process->pod_namespace) : "",
        .service = jvm ? text_of(p, process->service) : "",
        .version = jvm ? text_of(p, process->version) : "",
        .environment = "",
        .java = "",
        .attributes = jvm ? text_of(p, process->attributes) : "",
        .payer = jvm ? process->payer : 0,
    };
}

/* Returns the tally of a process; NULL: no memory. */
static struct tally *minute_pick(void *cookie, const struct profile *p, uint32_t index,
                                 bool *ret_merged)
{
    struct minute *m = cookie;
    const struct profile_process *process = &p->processes[index];
    struct group_key key = { .owner = process->owner };
    uint32_t id;

    *ret_merged = !process->service; /* only a process that runs Java has a service */
    if (process->service) {
        key.host_pid = process->host_pid;
        key.start_ticks = process->start_ticks;
        key.exec_no = process->exec_no;
    }
    if (id_table_add(&m->keys, &key, &id) < 0 || !array_extend(&m->groups, &m->cap, m->keys.cap)) {
        m->r = -ENOMEM;
        return NULL;
    }
    if (!m->groups[id]) {
        m->groups[id] = calloc(1, sizeof(**m->groups));
        if (!m->groups[id]) {
            m->r = -ENOMEM;
            return NULL;
        }
        tally_init(&m->groups[id]->tally);
        group_image(p, process, &key, &m->groups[id]->image);
    }
    return &m->groups[id]->tally;
}

int parts_insert(struct history *h, unsigned tier, uint64_t start_ns, int64_t image, int64_t epoch,
                 struct tally *t, struct error *err)
{
    static const char SQL[] = "INSERT INTO parts(tier, start_ns, image, rolled, bytes, sums, epoch,"
                              " body) VALUES(?,?,?,?,?,?,?,?)";
    _cleanup_buf_ struct buf plain = BUF_UPTO(BLOB_MAX_BYTES), packed = BUF_UPTO(BLOB_MAX_BYTES),
                             sums = BUF_UPTO(1024);
    int r;

    tally_encode(t, &plain);
    tally_sums(t, &sums);
    r = plain.error ? plain.error : sums.error;
    if (r == 0)
        r = blob_compress(buf_span(&plain), &packed);
    if (r < 0)
        return r;
    return store_run(h->store, SQL, CANNOT_WRITE, err, VALUE(tier), VALUE(start_ns), VALUE(image),
                     VALUE(tier == HISTORY_TIERS - 1), VALUE(packed.n + sums.n),
                     store_value_bytes(&sums), VALUE(epoch), store_value_bytes(&packed));
}

static int put_row(struct history *h, const struct history_minute *m, struct error *err)
{
    return store_run(h->store, "INSERT INTO minutes(start_ns, end_ns, lost) VALUES(?,?,?)",
                     CANNOT_WRITE, err, VALUE(m->start_ns), VALUE(m->end_ns), VALUE(m->lost));
}

static int put_jump(struct history *h, const struct history_minute *m, struct error *err)
{
    char text[96];

    if (m->jump_ns > -PUT_LEAST_JUMP_NS && m->jump_ns < PUT_LEAST_JUMP_NS)
        return 0;
    snprintf(text, sizeof(text), "The wall clock was set %s by %.1f s.",
             m->jump_ns < 0 ? "back" : "forward",
             (double)(m->jump_ns < 0 ? -m->jump_ns : m->jump_ns) / NSEC_PER_SEC);
    return marks_add(
        h, &(struct history_mark){ .time_ns = m->end_ns, .kind = HISTORY_MARK_CLOCK, .text = text },
        /* image= */ 0, err);
}

/* Writes the images of the minute, and gives their rows to the groups of their samples. Images are
 * written before samples: a JVM's first sample may know less than is known now, and would make
 * another row. */
static int put_images(struct history *h, const struct history_minute *m, struct minute *minute,
                      uint64_t start_ns, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < m->image_count && r == 0; i++) {
        const struct history_image *image = &m->images[i];
        struct group_key key = { .start_ticks = image->start_ticks,
                                 .host_pid = image->host_pid,
                                 .exec_no = image->exec_no,
                                 .owner = image->owner };
        uint32_t id;
        int64_t n;

        r = images_note(h, image, start_ns, &n, err);
        if (r == 0)
            r = stops_add(h, image, n, start_ns, err);
        if (r == 0 && id_table_find(&minute->keys, &key, &id) && minute->groups[id])
            minute->groups[id]->n = n;
    }
    return r;
}

static int put_groups(struct history *h, const struct minute *minute, uint64_t start_ns,
                      struct error *err)
{
    int r = 0;

    for (uint32_t i = 0; i < minute->keys.count && r == 0; i++) {
        struct group *g = minute->groups[i];
        int64_t image;

        if (!g || !g->tally.rows.count)
            continue;
        image = g->n;
        if (!image)
            r = images_note(h, &g->image, start_ns, &image, err);
        if (r == 0)
            r = parts_insert(h, 0, start_ns, image, h->store->writing->id, &g->tally, err);
    }
    return r;
}

static int put_minute(struct history *h, const struct history_minute *m, struct minute *minute,
                      struct error *err)
{
    uint64_t start_ns = history_minute_of(m->start_ns, m->end_ns);
    int r = dictionaries_for_writing(h->store, start_ns, err);
    uint64_t before = r == 0 ? h->store->writing->left_out : 0;

    for (size_t i = 0; i < m->slice_count && r == 0; i++) {
        r = tally_add_slice(h->store->writing, m->slices[i], minute_pick, minute);
        if (r == 0)
            r = minute->r;
    }
    if (r == 0) {
        minute->names_left_out = m->names_left_out + h->store->writing->left_out - before;
        r = put_additions(h->store, err);
    }
    if (r == 0)
        r = put_images(h, m, minute, start_ns, err);
    if (r == 0)
        r = put_groups(h, minute, start_ns, err);
    if (r == 0)
        r = put_row(h, m, err);
    return r == 0 ? put_jump(h, m, err) : r;
}

int history_put(struct history *h, const struct history_minute *m, struct error *err)
{
    struct store *s = h->store;
    struct minute minute = { 0 };
    int r;

    if (m->end_ns <= m->start_ns)
        return error_set(err, -EINVAL, "a minute of the history ends before it begins");
    id_table_init(&minute.keys, sizeof(struct group_key), HISTORY_IMAGES_MAX);
    store_enter_patiently(s);
    r = store_writable(s, err) ?: store_exec(s, "BEGIN IMMEDIATE", err);
    if (r == 0) {
        r = images_number(h, err) ?: put_minute(h, m, &minute, err);
        r = end_transaction(s, r, err);
    }
    h->stats.minutes += r == 0;
    h->stats.failures += r < 0;
    if (r == 0) {
        h->stats.newest_ns = m->end_ns;
        h->stats.names_left_out += minute.names_left_out;
    }
    store_leave(s);
    minute_deinit(&minute);
    LOCK_SCOPE(&h->told.lock);
    h->told.stats.minutes = h->stats.minutes;
    h->told.stats.failures = h->stats.failures;
    h->told.stats.names_left_out = h->stats.names_left_out;
    h->told.stats.newest_ns = h->stats.newest_ns;
    return r;
}
