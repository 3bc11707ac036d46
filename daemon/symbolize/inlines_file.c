/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/inlines_file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* ---- the reading, on the other thread ---- */

/* Opens the debug file @fd if it has the build-id of @h, or with @by_link the checksum of its link.
 */
static int open_debug(int fd, const struct elf_headers *h, bool by_link, struct dwarf **ret)
{
    _cleanup_(elf_file_closep) struct elf_file *f = NULL;
    const struct span id = { (const char *)h->build_id, h->build_id_n };

    if (fd < 0 || elf_file_open(fd, &f, NULL) < 0 ||
        !((id.n && span_eq(id, elf_file_build_id(f))) ||
          (by_link && elf_crc_matches(fd, h->link_crc))))
        return -ENOENT;
    return dwarf_open(fd, ret);
}

static int open_dwarf(struct inlines_file *f)
{
    int r = dwarf_open(f->job.fd, &f->job.dwarf);

    if (r < 0)
        r = open_debug(f->job.debug_fd, &f->headers, /* by_link= */ false, &f->job.dwarf);
    if (r < 0)
        r = open_debug(f->job.link_fd, &f->headers, /* by_link= */ true, &f->job.dwarf);
    return r;
}

static void open_alt(struct inlines_file *f)
{
    struct elf_headers h = { 0 };
    struct span id = dwarf_alt_build_id(f->job.dwarf);

    h.build_id_n = MIN(id.n, sizeof(h.build_id));
    memcpy(h.build_id, id.p, h.build_id_n);
    if (open_debug(f->job.alt_fd, &h, /* by_link= */ false, &f->job.alt) == 0)
        dwarf_set_alt(f->job.dwarf, f->job.alt);
    else
        f->job.alt_fd = close_fd(f->job.alt_fd);
}

/* Returns the readable form of the symbol @symbol as a string of the result; 0: none. */
static uint32_t readable(struct inlines_file *f, struct span symbol, uint64_t until_ns)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(SYMBOL_NAME_MAX + DEMANGLED_NAME_MAX);
    uint32_t id = 0;

    namer_name_wait(f->job.namer, f->work.owner, symbol, until_ns, &text);
    return intern_add(f->job.result.strings, buf_span(&text), &id) < 0 ? 0 : id;
}

/* Replaces mangled names by readable ones. First requests all names, as far as there is room. Then
 * makes each name once. */
static void make_readable(struct inlines_file *f)
{
    struct dwarf_answers *a = &f->job.result;
    uint32_t count = a->strings ? intern_count(a->strings) : 0;
    _cleanup_free_ uint32_t *made = count ? calloc(count, sizeof(*made)) : NULL;
    uint64_t until_ns = clock_monotonic_ns() + INLINES_NAMES_NS;

    for (size_t i = 0; made && i < a->frame_count; i++) {
        _cleanup_buf_ struct buf text = BUF_UPTO(SYMBOL_NAME_MAX + DEMANGLED_NAME_MAX);

        namer_name(f->job.namer, f->work.owner, intern_get(a->strings, a->frames[i].name), &text);
    }
    for (size_t i = 0; made && i < a->frame_count; i++) {
        uint32_t *name = &a->frames[i].name;

        if (*name && *name < count && !made[*name])
            made[*name] = readable(f, intern_get(a->strings, *name), until_ns);
        *name = *name < count ? made[*name] : 0;
    }
}

static void run(struct work *work)
{
    struct inlines_file *f = (struct inlines_file *)work;

    if (f->job.outcome > 0)
        f->job.outcome = open_dwarf(f);
    if (f->job.outcome < 0 || inlines_file_alt(f).n)
        return; /* the engine has to open the shared debug file first */
    if (f->job.alt_fd >= 0 && !f->job.alt)
        open_alt(f);
    f->job.result_outcome = dwarf_look_up(f->job.dwarf, f->job.asked, f->job.asked_count,
                                          INLINES_READING_NS, &f->job.result);
    make_readable(f);
    dwarf_rest(f->job.dwarf);
    if (f->job.alt)
        dwarf_rest(f->job.alt);
}

/* ---- creating and freeing ---- */

struct inlines_file *inlines_file_new(int fd, int debug_fd, int link_fd)
{
    struct inlines_file *f = calloc(1, sizeof(*f));

    if (!f || intern_new(INLINES_STRINGS_MAX_BYTES, &f->strings) < 0) {
        free(f);
        close_fd(fd);
        close_fd(debug_fd);
        close_fd(link_fd);
        return NULL;
    }
    f->work.run = run;
    f->job.fd = fd;
    f->job.debug_fd = debug_fd;
    f->job.link_fd = link_fd;
    f->job.alt_fd = -1;
    f->job.outcome = 1;
    id_table_init(&f->addresses, sizeof(uint64_t), INLINES_ADDRESSES_MAX);
    return f;
}

struct inlines_file *inlines_file_free(struct inlines_file *f)
{
    if (!f)
        return NULL;
    dwarf_close(f->job.dwarf);
    dwarf_close(f->job.alt);
    close_fd(f->job.fd);
    close_fd(f->job.debug_fd);
    close_fd(f->job.link_fd);
    close_fd(f->job.alt_fd);
    dwarf_answers_deinit(&f->job.result);
    id_table_deinit(&f->addresses);
    intern_free(f->strings);
    free(f->answers);
    free(f->frames);
    free(f->job.asked);
    free(f->job.numbers);
    free(f);
    return NULL;
}

struct span inlines_file_alt(const struct inlines_file *f)
{
    return f->job.dwarf && !f->alt_asked ? dwarf_alt_build_id(f->job.dwarf) : SPAN_NULL;
}

bool inlines_file_wants(const struct inlines_file *f)
{
    return !f->given_up && (f->reading || f->answered < f->addresses.count);
}

bool inlines_file_begin(struct inlines_file *f)
{
    size_t left = f->addresses.count - f->answered;

    if (f->given_up || f->reading || !left)
        return false;
    free(f->job.asked);
    free(f->job.numbers);
    f->job.asked_count = 0;
    f->job.asked = reallocarray(NULL, left, sizeof(*f->job.asked));
    f->job.numbers = reallocarray(NULL, left, sizeof(*f->job.numbers));
    if (!f->job.asked || !f->job.numbers)
        return false;
    for (uint32_t i = 0; i < f->addresses.count && f->job.asked_count < left; i++) {
        if (f->answers[i].state != DWARF_NOT_READ)
            continue;
        f->job.asked[f->job.asked_count] = *(const uint64_t *)id_table_get(&f->addresses, i);
        f->job.numbers[f->job.asked_count++] = i;
    }
    f->reading = true;
    f->job.result_outcome = 0;
    return true;
}

/* ---- answers ---- */

size_t inlines_file_bytes(const struct inlines_file *f)
{
    size_t bytes = sizeof(*f) + id_table_bytes(&f->addresses) + intern_bytes(f->strings) +
                   f->answer_cap * sizeof(*f->answers) + f->frame_cap * sizeof(*f->frames);

    if (f->reading) /* the other thread owns the debug information during a reading */
        return bytes;
    return bytes + (f->job.dwarf ? dwarf_bytes(f->job.dwarf) : 0) +
           (f->job.alt ? dwarf_bytes(f->job.alt) : 0);
}

/* Stores the frames of an answer. Returns false if there is no room. */
static bool keep(struct inlines_file *f, const struct dwarf_answer *a, struct dwarf_answer *to)
{
    if (f->frame_count + a->count > INLINES_FRAMES_MAX)
        return false;
    if (!array_grow(&f->frames, &f->frame_cap, f->frame_count + a->count, 1024))
        return false;
    *to = (struct dwarf_answer){ (uint32_t)f->frame_count, a->count, a->state };
    for (size_t i = 0; i < a->count; i++) {
        struct dwarf_frame frame = f->job.result.frames[a->first + i];

        if (intern_add(f->strings, intern_get(f->job.result.strings, frame.name), &frame.name) <
                0 ||
            intern_add(f->strings, intern_get(f->job.result.strings, frame.file), &frame.file) < 0)
            return false;
        f->frames[f->frame_count + i] = frame;
    }
    f->frame_count += a->count;
    return true;
}

void inlines_file_end(struct inlines_file *f, bool room, uint64_t now_ns)
{
    size_t before = f->answered;

    f->reading = false;
    f->read_ns = now_ns;
    f->cpu_ns += f->work.cpu_ns;
    for (size_t i = 0; i < f->job.result.count; i++) {
        const struct dwarf_answer *a = &f->job.result.of[i];
        struct dwarf_answer *to = &f->answers[f->job.numbers[i]];

        if (a->state == DWARF_NOT_READ)
            continue;
        if (!room || !keep(f, a, to)) {
            *to = (struct dwarf_answer){ 0 };
            f->given_up = true;
            break;
        }
        f->answered++;
    }
    dwarf_answers_deinit(&f->job.result);
    if (inlines_file_alt(f).n)
        return;
    f->given_up |= f->job.outcome < 0 || f->job.result_outcome < 0 ||
                   f->cpu_ns >= INLINES_FILE_NS ||
                   (f->answered == before && f->work.cpu_ns < INLINES_READING_NS / 2);
}
