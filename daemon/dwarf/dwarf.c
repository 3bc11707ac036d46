/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf.h"

#include "base/array.h"
#include "dwarf/dwarf_impl.h"
#include "elf/elf_layout.h"

#include <sys/stat.h>
#include <unistd.h>

#define ALT_LINK_MAX_BYTES ((uint64_t)8192)
#define ALT_FOLDER "/.dwz/"
#define FILE_MAX_BYTES ((int64_t)4 << 30)

static const char *const SECTION_NAMES[DWARF_SECTION_COUNT] = {
    [DWARF_INFO] = ".debug_info",
    [DWARF_ABBREV] = ".debug_abbrev",
    [DWARF_STR] = ".debug_str",
    [DWARF_LINE_STR] = ".debug_line_str",
    [DWARF_STR_OFFSETS] = ".debug_str_offsets",
    [DWARF_ADDR] = ".debug_addr",
    [DWARF_RNGLISTS] = ".debug_rnglists",
    [DWARF_RANGES] = ".debug_ranges",
    [DWARF_ARANGES] = ".debug_aranges",
    [DWARF_LINE] = ".debug_line",
};

/* ---- open ---- */

/* Reads .gnu_debugaltlink: a path, a NUL, a build-id. */
static void read_alt_link(struct dwarf *d, int fd, const Elf64_Shdr *h)
{
    char bytes[ALT_LINK_MAX_BYTES];
    ssize_t n =
        h->sh_offset <= INT64_MAX
            ? pread(fd, bytes, (size_t)MIN(h->sh_size, ALT_LINK_MAX_BYTES), (off_t)h->sh_offset)
            : -1;
    size_t path = n > 0 ? strnlen(bytes, (size_t)n) + 1 : 0;

    if (n <= 0 || path >= (size_t)n || (size_t)n - path > DWARF_BUILD_ID_MAX)
        return;
    for (const char *at = bytes; (at = strstr(at, ALT_FOLDER)); at += 1) {
        size_t rest = strlen(at + strlen(ALT_FOLDER));

        if (rest <= DWARF_ALT_NAME_MAX)
            memcpy(d->alt_name, at + strlen(ALT_FOLDER), rest + 1);
    }
    d->alt_id_n = (size_t)n - path;
    memcpy(d->alt_id, bytes + path, d->alt_id_n);
}

static void open_section(struct dwarf *d, int fd, const char *name, const Elf64_Shdr *h)
{
    if (strcmp(name, ".gnu_debugaltlink") == 0)
        read_alt_link(d, fd, h);
    for (size_t i = 0; i < DWARF_SECTION_COUNT; i++) {
        if (strcmp(name, SECTION_NAMES[i]) == 0 && !d->sections[i].bytes)
            dwarf_section_init(&d->sections[i], &d->chunks, fd, h->sh_offset, h->sh_size,
                               h->sh_flags & SHF_COMPRESSED);
    }
}

static int open_sections(struct dwarf *d, int fd, const struct elf_layout *l)
{
    if (l->head.e_ident[EI_CLASS] != ELFCLASS64)
        return -ENOEXEC;
    for (size_t i = 1; i < l->section_count; i++) {
        if (l->sections[i].sh_type != SHT_NOBITS)
            open_section(d, fd, elf_layout_name(l, i), &l->sections[i]);
    }
    return d->sections[DWARF_INFO].bytes && d->sections[DWARF_ABBREV].bytes ? 0 : -ENOENT;
}

int dwarf_open(int fd, struct dwarf **ret)
{
    const struct elf_source source = { .fd = fd };
    struct elf_layout l = { 0 };
    struct dwarf *d;
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES)
        return -ENOEXEC;
    d = calloc(1, sizeof(*d));
    if (!d)
        return -ENOMEM;
    r = elf_layout_read(&source, &l) ?: open_sections(d, fd, &l);
    elf_layout_deinit(&l);
    if (r < 0) {
        dwarf_close(d);
        return r;
    }
    *ret = d;
    return 0;
}

struct dwarf *dwarf_close(struct dwarf *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; i < DWARF_SECTION_COUNT; i++)
        dwarf_section_deinit(&d->sections[i]);
    dwarf_chunks_clear(&d->chunks);
    dwarf_abbrevs_clear(&d->abbrevs);
    free(d->units);
    free(d->code);
    free(d->reach);
    free(d);
    return NULL;
}

struct span dwarf_alt_build_id(const struct dwarf *d)
{
    return (struct span){ (const char *)d->alt_id, d->alt_id_n };
}

struct span dwarf_alt_name(const struct dwarf *d)
{
    return span_of(d->alt_name);
}

void dwarf_rest(struct dwarf *d)
{
    dwarf_chunks_clear(&d->chunks);
    dwarf_abbrevs_clear(&d->abbrevs);
}

/* The state that zlib keeps for a restart point. */
#define RESTART_BYTES ((size_t)48 << 10)

size_t dwarf_bytes(const struct dwarf *d)
{
    size_t bytes = sizeof(*d) + dwarf_abbrevs_bytes(&d->abbrevs) + d->unit_cap * sizeof(*d->units) +
                   d->code_cap * (sizeof(*d->code) + sizeof(*d->reach));

    for (size_t i = 0; i < DWARF_SECTION_COUNT; i++) {
        const struct dwarf_section *s = &d->sections[i];

        bytes += s->chunk_count * sizeof(*s->chunk) + dwarf_unpacker_bytes(s->live.stream);
        if (s->packing == DWARF_ZLIB)
            bytes += s->chunk_count / DWARF_RESTART_CHUNKS * RESTART_BYTES;
    }
    return bytes;
}

void dwarf_set_alt(struct dwarf *d, struct dwarf *alt)
{
    d->alt = alt;
}

/* ---- look up ---- */

ORDER_FUNCTION(compare_addresses, struct dwarf_wanted,
               COMPARE(x->unit, y->unit) ?: COMPARE(x->address, y->address))

/* State of a look-up while it reads one unit. */
struct part {
    struct dwarf *d;
    struct dwarf_scopes scopes;
    struct dwarf_files files;
    struct dwarf_answers *to;
};

static uint32_t scope_name(struct part *p, struct dwarf_scope *s)
{
    if (!s->named)
        s->name = dwarf_function_name(p->d, s->entry, p->to->strings);
    s->named = true;
    return s->name;
}

static uint32_t file_name(const struct part *p, uint32_t file)
{
    return file < p->files.count ? p->files.names[file] : 0;
}

static bool add_frame(struct dwarf_answers *to, const struct dwarf_frame *f)
{
    if (!array_grow(&to->frames, &to->frame_cap, to->frame_count + 1, 256))
        return false;
    to->frames[to->frame_count++] = *f;
    return true;
}

static bool is_spent(const struct dwarf *d)
{
    return d->chunks.budget.spent || (d->alt && d->alt->chunks.budget.spent);
}

static void answer(struct part *p, const struct dwarf_wanted *w)
{
    struct dwarf_answer *a = &p->to->of[w->order];
    uint32_t scope = w->scope, file = w->file, line = w->line;

    a->state = scope ? DWARF_FOUND : DWARF_NONE;
    a->first = (uint32_t)p->to->frame_count;
    while (scope && a->count < DWARF_FRAMES_MAX && !is_spent(p->d)) {
        struct dwarf_scope *s = &p->scopes.list[scope - 1];
        struct dwarf_frame f = { scope_name(p, s), file_name(p, file), line };

        if (!add_frame(p->to, &f))
            break;
        a->count++;
        file = s->call_file;
        line = s->call_line;
        scope = s->parent;
    }
    if (scope || is_spent(p->d)) { /* not all frames, or not all names */
        p->to->frame_count = a->first;
        *a = (struct dwarf_answer){ .state = is_spent(p->d) ? DWARF_NOT_READ : DWARF_BEYOND };
    }
}

static void answer_all(const struct dwarf_wanted *wanted, size_t count, enum dwarf_state state,
                       struct dwarf_answers *to)
{
    for (size_t i = 0; i < count; i++)
        to->of[wanted[i].order].state = (uint8_t)state;
}

static void look_up_unit(struct dwarf *d, struct dwarf_wanted *wanted, size_t count,
                         struct dwarf_answers *to)
{
    struct part p = { .d = d, .to = to };
    struct dwarf_unit *u = &d->units[wanted[0].unit - 1];

    if (dwarf_unit_begin(d, u) && u->split) {
        answer_all(wanted, count, DWARF_SPLIT, to);
        return;
    }
    if (!u->begun || !u->code || !dwarf_find_scopes(d, u, wanted, count, &p.scopes)) {
        d->skipped += !d->chunks.budget.spent;
        answer_all(wanted, count, is_spent(d) ? DWARF_NOT_READ : DWARF_BEYOND, to);
    } else {
        dwarf_find_lines(d, u, wanted, count, &p.scopes, to->strings, &p.files);
        for (size_t i = 0; i < count; i++)
            answer(&p, &wanted[i]);
    }
    free(p.scopes.list);
    free(p.files.names);
}

/* Finds the units of @addresses and sorts @wanted by unit. Return: false if not all are known. */
static bool sort_wanted(struct dwarf *d, const uint64_t *addresses, size_t count,
                        struct dwarf_wanted *wanted)
{
    if (!dwarf_list_code(d))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct dwarf_unit *u = dwarf_unit_of_code(d, addresses[i]);

        wanted[i] = (struct dwarf_wanted){ .address = addresses[i],
                                           .unit = u ? (uint32_t)(u - d->units) + 1 : 0,
                                           .order = (uint32_t)i };
    }
    qsort(wanted, count, sizeof(*wanted), compare_addresses);
    return !d->chunks.budget.spent;
}

int dwarf_look_up(struct dwarf *d, const uint64_t *addresses, size_t count, uint64_t cpu_ns,
                  struct dwarf_answers *ret)
{
    _cleanup_free_ struct dwarf_wanted *wanted = calloc(MAX(count, (size_t)1), sizeof(*wanted));
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers a = { .count = count };
    uint64_t skipped = d->skipped;
    size_t end;

    a.of = calloc(MAX(count, (size_t)1), sizeof(*a.of));
    if (!wanted || !a.of || intern_new(DWARF_STRINGS_MAX_BYTES, &a.strings) < 0)
        return -ENOMEM;
    dwarf_budget_begin(&d->chunks.budget, cpu_ns);
    if (d->alt) /* the file is read for names, with its own budget */
        dwarf_budget_begin(&d->alt->chunks.budget, cpu_ns);
    if (sort_wanted(d, addresses, count, wanted)) {
        for (size_t i = 0; i < count && !d->chunks.budget.spent; i = end) {
            for (end = i + 1; end < count && wanted[end].unit == wanted[i].unit;)
                end++;
            if (wanted[i].unit)
                look_up_unit(d, wanted + i, end - i, &a);
            else
                answer_all(wanted + i, end - i, d->cut ? DWARF_BEYOND : DWARF_NONE, &a);
        }
    }
    a.skipped = d->skipped - skipped;
    *ret = a;
    a = (struct dwarf_answers){ 0 };
    return 0;
}

void dwarf_answers_deinit(struct dwarf_answers *a)
{
    free(a->of);
    free(a->frames);
    intern_free(a->strings);
    *a = (struct dwarf_answers){ 0 };
}
