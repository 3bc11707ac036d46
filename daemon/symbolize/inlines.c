/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/inlines.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/list.h"
#include "base/memfd_copy.h"
#include "base/u64_cache.h"
#include "proc/stall_readers.h"
#include "symbolize/inlines_file.h"

#define LACKING_MAX 4096

struct inlines {
    const struct symbol_files *files; /* borrowed */
    struct namer *namer;              /* borrowed */
    bool background;
    int wake_fd;
    struct memory_budget *memory; /* borrowed */
    struct worker *worker;        /* NULL: not started yet, or not used */
    struct inlines_file *list[INLINES_FILES_MAX];
    size_t count;
    struct u64_cache lacking; /* numbers of dropped files without debug information */
    unsigned holders;
    uint32_t last_number;
    uint64_t used_ns;
};

int inlines_new(const struct symbol_files *files, struct namer *namer, bool background, int wake_fd,
                struct memory_budget *memory, struct inlines **ret)
{
    struct inlines *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    *n = (struct inlines){ .files = files,
                           .namer = namer,
                           .background = background,
                           .wake_fd = wake_fd,
                           .memory = memory };
    u64_cache_init(&n->lacking, LACKING_MAX);
    *ret = n;
    return 0;
}

static void leave(struct work *work)
{
    (void)work; /* the file stays in the list, which frees it */
}

static struct inlines_file *find(const struct inlines *n, uint32_t file)
{
    for (size_t i = 0; i < n->count; i++) {
        if (n->list[i]->number == file)
            return n->list[i];
    }
    return NULL;
}

uint64_t inlines_owner(const struct inlines *n, uint32_t file)
{
    const struct inlines_file *f = find(n, file);

    return f ? f->work.owner : 0;
}

bool inlines_knows(const struct inlines *n, uint32_t file)
{
    return find(n, file);
}

/* ---- files ---- */

/* Charges @bytes of @f to @s instead of *counted. Gives @f up if there is no room. */
static void count(struct shares *s, struct inlines_file *f, uint64_t bytes, uint64_t *counted)
{
    uint64_t owner = f->work.owner;

    shares_give(s, owner, *counted);
    if (bytes > shares_room_lasting(s, owner)) {
        s->refused += !f->given_up;
        f->given_up = true;
    }
    shares_force(s, owner, bytes);
    *counted = bytes;
}

static void count_copies(struct inlines *n, struct inlines_file *f)
{
    count(&n->memory->copies, f,
          sealed_bytes(f->job.fd) + sealed_bytes(f->job.debug_fd) + sealed_bytes(f->job.link_fd) +
              sealed_bytes(f->job.alt_fd),
          &f->copied_bytes);
}

static void drop_file(struct inlines *n, struct inlines_file *f)
{
    if (!f->reading && f->job.outcome < 0)
        u64_cache_put(&n->lacking, f->number, 1);
    shares_give(&n->memory->copies, f->work.owner, f->copied_bytes);
    shares_give(&n->memory->inlines, f->work.owner, f->bytes);
    inlines_file_free(f);
}

/* Frees all files and gives their memory back. */
static void clear(struct inlines *n)
{
    n->worker = worker_free(n->worker, leave);
    while (n->count)
        drop_file(n, n->list[--n->count]);
}

struct inlines *inlines_free(struct inlines *n)
{
    if (!n)
        return NULL;
    clear(n);
    u64_cache_deinit(&n->lacking);
    free(n);
    return NULL;
}

void inlines_hold(struct inlines *n)
{
    n->holders++;
}

void inlines_release(struct inlines *n)
{
    n->holders--;
}

/* Drops the file that was requested longest ago, but none that is being read. Returns false if
 * there is none. */
static bool drop_oldest(struct inlines *n)
{
    size_t oldest = n->count;

    for (size_t i = 0; i < n->count; i++) {
        if (!n->list[i]->reading &&
            (oldest == n->count || n->list[i]->used_ns < n->list[oldest]->used_ns))
            oldest = i;
    }
    if (oldest == n->count)
        return false;
    drop_file(n, n->list[oldest]);
    n->list[oldest] = n->list[--n->count];
    return true;
}

/* Opens the debug files that the mapping may have. */
static void open_debug(struct inlines *n, const struct proc_id *id, uint64_t start, uint64_t end,
                       const struct elf_headers *h, int *ret_debug_fd, int *ret_link_fd)
{
    const struct symbol_files *s = n->files;

    *ret_debug_fd = *ret_link_fd = -1;
    if (h->build_id_n &&
        s->debug(s->cookie, id, h->build_id, h->build_id_n, ret_debug_fd, NULL) != 0)
        *ret_debug_fd = -1;
    if (h->link_name[0] &&
        s->debuglink(s->cookie, id, start, end, h->link_name, ret_link_fd, NULL) != 0)
        *ret_link_fd = -1;
}

static struct inlines_file *add_file(struct inlines *n, const struct proc_id *id, uint64_t start,
                                     uint64_t end, const struct elf_headers *h, int fd)
{
    struct inlines_file *f;
    int debug_fd, link_fd;

    if (n->count == INLINES_FILES_MAX && !drop_oldest(n)) {
        close_fd(fd);
        return NULL;
    }
    open_debug(n, id, start, end, h, &debug_fd, &link_fd);
    f = inlines_file_new(fd, debug_fd, link_fd);
    if (!f)
        return NULL;
    file_identity_of(f->job.fd, &f->identity);
    f->id = *id;
    f->work.owner = readers_owner(id);
    f->headers = *h;
    f->job.namer = n->namer;
    if (++n->last_number == 0)
        n->last_number = 1;
    f->number = n->last_number;
    n->list[n->count++] = f;
    count_copies(n, f);
    return f;
}

uint32_t inlines_file(struct inlines *n, const struct proc_id *id, uint64_t start, uint64_t end,
                      const struct elf_headers *h, uint64_t now_ns)
{
    struct inlines_file *f = NULL;
    struct file_identity identity;
    int fd = -1;

    if (n->files->mapped(n->files->cookie, id, start, end, &fd, NULL) != 0 || fd < 0)
        return 0;
    file_identity_of(fd, &identity);
    for (size_t i = 0; i < n->count && !f; i++) {
        if (file_identity_equal(&n->list[i]->identity, &identity))
            f = n->list[i];
    }
    if (f)
        close_fd(fd);
    else
        f = add_file(n, id, start, end, h, fd);
    if (!f)
        return 0;
    f->used_ns = n->used_ns = now_ns;
    return f->number;
}

/* ---- questions and answers ---- */

void inlines_want(struct inlines *n, uint32_t file, uint64_t address, uint64_t now_ns)
{
    struct inlines_file *f = find(n, file);
    uint32_t id;

    if (!f)
        return;
    f->used_ns = n->used_ns = now_ns;
    if (id_table_add(&f->addresses, &address, &id) != 1)
        return;
    if (f->addresses.count > f->answer_cap &&
        !array_extend(&f->answers, &f->answer_cap, MAX(f->answer_cap * 2, (size_t)256))) {
        f->given_up = true;
        return;
    }
}

enum dwarf_state inlines_get(const struct inlines *n, uint32_t file, uint64_t address,
                             struct inlines_frame ret[DWARF_FRAMES_MAX], size_t *count)
{
    const struct inlines_file *f = find(n, file);
    const struct dwarf_answer *a;
    uint32_t id;

    *count = 0;
    if (!f || !id_table_find(&f->addresses, &address, &id) || id >= f->answer_cap)
        return DWARF_NOT_READ;
    a = &f->answers[id];
    for (size_t i = 0; i < a->count; i++) {
        const struct dwarf_frame *frame = &f->frames[a->first + i];

        ret[i] = (struct inlines_frame){ intern_get(f->strings, frame->name),
                                         intern_get(f->strings, frame->file), frame->line };
    }
    *count = a->count;
    return (enum dwarf_state)a->state;
}

bool inlines_has_any(const struct inlines *n, uint32_t file)
{
    const struct inlines_file *f = find(n, file);

    return f && f->answers && (f->reading || f->job.outcome >= 0);
}

bool inlines_lost(const struct inlines *n, uint32_t file)
{
    return !find(n, file) && !u64_cache_get(&n->lacking, file, &(uint32_t){ 0 });
}

bool inlines_lacks_shared(const struct inlines *n, uint32_t file)
{
    const struct inlines_file *f = find(n, file);

    return f && !f->reading && f->alt_asked && f->job.alt_fd < 0;
}

bool inlines_reads(const struct inlines *n)
{
    return ANY_OF(i, n->count, inlines_file_wants(n->list[i]));
}

/* ---- readings ---- */

/* Opens the shared debug file that a reading found to be missing. */
static void open_alt(struct inlines *n, struct inlines_file *f)
{
    const struct symbol_files *s = n->files;
    struct span id = inlines_file_alt(f), name;

    if (!id.n)
        return;
    name = dwarf_alt_name(f->job.dwarf);
    if (id.n > ELF_BUILD_ID_MAX ||
        s->debug(s->cookie, &f->id, (const uint8_t *)id.p, id.n, &f->job.alt_fd, NULL) != 0)
        f->job.alt_fd = -1;
    if (f->job.alt_fd < 0 && name.n &&
        s->debug_shared(s->cookie, &f->id, name, &f->job.alt_fd, NULL) != 0)
        f->job.alt_fd = -1;
    f->alt_asked = true;
    f->read_ns = 0; /* read it without a pause */
    count_copies(n, f);
}

static void end_reading(struct inlines *n, struct inlines_file *f, uint64_t now_ns)
{
    struct shares *memory = &n->memory->inlines;

    inlines_file_end(f, shares_room_lasting(memory, f->work.owner) > 0, now_ns);
    open_alt(n, f);
    count(memory, f, inlines_file_bytes(f), &f->bytes);
    if (f->given_up) {
        f->job.dwarf = dwarf_close(f->job.dwarf);
        f->job.alt = dwarf_close(f->job.alt);
        count(memory, f, inlines_file_bytes(f), &f->bytes);
    }
}

static void begin_reading(struct inlines *n, struct inlines_file *f, uint64_t now_ns)
{
    if (f->given_up || f->reading || (f->read_ns && now_ns < f->read_ns + INLINES_PAUSE_NS) ||
        !inlines_file_begin(f))
        return;
    if (n->background && !n->worker &&
        worker_new("flamed-inlines", 2 * INLINES_FILES_MAX, n->wake_fd, &n->worker) < 0)
        n->worker = NULL;
    if (n->worker && worker_put(n->worker, &f->work))
        return;
    if (n->background) { /* only a reading on the other thread may wait for names */
        f->reading = false;
        f->given_up = true;
        return;
    }
    f->work.run(&f->work);
    end_reading(n, f, now_ns);
}

bool inlines_poll(struct inlines *n, uint64_t now_ns)
{
    struct work *work;
    bool news = false;

    while (n->worker && (work = worker_take(n->worker))) {
        end_reading(n, (struct inlines_file *)work, now_ns);
        news = true;
    }
    for (size_t i = 0; i < n->count; i++)
        begin_reading(n, n->list[i], now_ns);
    if (n->count && !n->holders && !inlines_reads(n) && now_ns > n->used_ns + INLINES_IDLE_NS)
        clear(n);
    return news;
}
