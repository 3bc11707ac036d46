/* SPDX-License-Identifier: Apache-2.0 */
/* The line table of a unit: runs its program, and names the files that are needed. */
#include "base/array.h"
#include "base/buf.h"
#include "dwarf/dwarf_impl.h"

#define FORMATS_MAX 16
#define WANTED UINT32_MAX /* marks a file that needs its name */

enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2 };
enum {
    LNS_EXTENDED,
    LNS_COPY,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNS_NEGATE_STMT,
    LNS_BASIC_BLOCK,
    LNS_CONST_ADD_PC,
    LNS_FIXED_ADVANCE_PC
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };

struct program {
    struct dwarf *d;
    struct dwarf_unit unit; /* has the version of the table, for reading forms */
    uint8_t min_bytes, range, opcode_base;
    int8_t line_base;
    const uint8_t *lengths;     /* [opcode_base - 1]: numbers of operands of standard opcodes */
    struct dwarf_cursor tables; /* position of the tables of folders and files */
    struct dwarf_cursor opcodes;
    struct dwarf_wanted *wanted;
    size_t count;
    /* The state of the machine, and its previous row. */
    uint64_t address, before;
    uint32_t file, line, before_file, before_line;
    bool begun; /* there is a previous row */
};

static bool read_header(struct program *p, const uint8_t *bytes, size_t n)
{
    struct dwarf_cursor c = dwarf_cursor(bytes, n);
    uint64_t length;

    p->unit.version = (uint16_t)dwarf_take(&c, 2);
    if (p->unit.version < 2 || p->unit.version > 5)
        return false;
    if (p->unit.version == 5 && (dwarf_take(&c, 1) != 8 || dwarf_take(&c, 1)))
        return false;
    length = dwarf_take(&c, p->unit.offset_bytes);
    if (c.past || length > (uint64_t)(c.end - c.p))
        return false;
    p->opcodes = (struct dwarf_cursor){ c.p + length, c.end, false };
    c.end = c.p + length;
    p->min_bytes = (uint8_t)dwarf_take(&c, 1);
    if (p->unit.version >= 4)
        dwarf_take(&c, 1);
    dwarf_take(&c, 1);
    p->line_base = (int8_t)dwarf_take(&c, 1);
    p->range = (uint8_t)dwarf_take(&c, 1);
    p->opcode_base = (uint8_t)dwarf_take(&c, 1);
    if (c.past || !p->range || !p->opcode_base)
        return false;
    p->lengths = dwarf_take_bytes(&c, p->opcode_base - 1u);
    p->tables = c;
    return p->lengths;
}

/* ---- the program ---- */

/* Adds a row. Addresses from the previous row up to this one get the line of the previous row. */
static bool add_row(struct program *p, bool ends)
{
    if (p->begun && p->before < p->address) {
        for (size_t i = dwarf_first_wanted(p->wanted, p->count, p->before);
             i < p->count && p->wanted[i].address < p->address; i++) {
            struct dwarf_wanted *w = &p->wanted[i];

            if (!w->file && !w->line) {
                w->file = p->before_file;
                w->line = p->before_line;
            }
            if (!dwarf_budget_take(&p->d->chunks.budget, 1))
                return false;
        }
    }
    p->begun = !ends;
    p->before = p->address;
    p->before_file = p->file;
    p->before_line = p->line;
    if (ends) {
        p->address = 0;
        p->file = p->line = 1;
    }
    return dwarf_budget_take(&p->d->chunks.budget, 2);
}

static bool run_extended(struct program *p, struct dwarf_cursor *c)
{
    uint64_t length = dwarf_take_uleb(c);
    const uint8_t *at = dwarf_take_bytes(c, length);

    if (!at || !length)
        return at;
    if (*at == LNE_END_SEQUENCE)
        return add_row(p, /* ends= */ true);
    if (*at == LNE_SET_ADDRESS && length == 9)
        memcpy(&p->address, at + 1, 8);
    return true;
}

static bool run_standard(struct program *p, struct dwarf_cursor *c, uint8_t opcode)
{
    switch (opcode) {
    case LNS_COPY:
        return add_row(p, /* ends= */ false);
    case LNS_ADVANCE_PC:
        p->address += dwarf_take_uleb(c) * p->min_bytes;
        break;
    case LNS_ADVANCE_LINE:
        p->line += (uint32_t)dwarf_take_sleb(c);
        break;
    case LNS_SET_FILE:
        p->file = (uint32_t)dwarf_take_most(c, UINT32_MAX);
        break;
    case LNS_CONST_ADD_PC:
        p->address += (255u - p->opcode_base) / p->range * p->min_bytes;
        break;
    case LNS_FIXED_ADVANCE_PC:
        p->address += dwarf_take(c, 2);
        break;
    default:
        for (uint8_t i = 0; i < p->lengths[opcode - 1]; i++)
            dwarf_take_uleb(c);
    }
    return true;
}

static void run(struct program *p)
{
    struct dwarf_cursor *c = &p->opcodes;

    p->file = p->line = 1;
    while (c->p < c->end && !c->past && dwarf_budget_take(&p->d->chunks.budget, 1)) {
        uint8_t opcode = *c->p++;
        bool ok = true;

        if (opcode >= p->opcode_base) {
            unsigned n = opcode - p->opcode_base;

            p->address += n / p->range * p->min_bytes;
            p->line += (uint32_t)(p->line_base + (int)(n % p->range));
            ok = add_row(p, /* ends= */ false);
        } else if (opcode == LNS_EXTENDED) {
            ok = run_extended(p, c);
        } else {
            ok = run_standard(p, c, opcode);
        }
        if (!ok)
            return;
    }
}

/* ---- files ---- */

struct entry_format {
    uint16_t content, form;
};

/* A folder or file. Its text is in the caller's buffer or in the table. */
struct path {
    struct span text;
    uint64_t folder;
};

static bool take_path(struct program *p, const struct entry_format *formats, size_t count,
                      bool wanted, char buffer[DWARF_NAME_MAX], struct path *ret)
{
    *ret = (struct path){ 0 };
    for (size_t i = 0; i < count; i++) {
        struct dwarf_value v;

        if (!dwarf_value_take(&p->tables, &p->unit, formats[i].form, 0, &v))
            return false;
        if (formats[i].content == LNCT_PATH && wanted)
            ret->text = dwarf_value_text(p->d, &p->unit, &v, buffer);
        else if (formats[i].content == LNCT_DIRECTORY)
            ret->folder = v.u;
    }
    return dwarf_budget_take(&p->d->chunks.budget, 1);
}

static size_t take_formats(struct program *p, struct entry_format formats[FORMATS_MAX])
{
    size_t count = (size_t)dwarf_take(&p->tables, 1);

    for (size_t i = 0; i < count && count <= FORMATS_MAX; i++) {
        formats[i].content = (uint16_t)dwarf_take_most(&p->tables, UINT16_MAX);
        formats[i].form = (uint16_t)dwarf_take_most(&p->tables, UINT16_MAX);
    }
    return count && count <= FORMATS_MAX && !p->tables.past ? count : 0;
}

/* Sets *ret to "folder/name". Adds no folder to a file in the unit's own folder, or with an
 * absolute path. */
static void name_file(const struct path *path, struct span folder, struct intern *strings,
                      uint32_t *ret)
{
    _cleanup_buf_ struct buf text = BUF_UPTO((size_t)2 * DWARF_NAME_MAX + 2);

    *ret = 0;
    if (folder.n && path->text.n && path->text.p[0] != '/') {
        buf_add_span(&text, folder);
        buf_add_char(&text, '/');
    }
    buf_add_span(&text, path->text);
    intern_add(strings, buf_span(&text), ret);
}

/* The entries of folders in the tables, by number. */
struct folders {
    const uint8_t **at; /* owned, [count]; version 4 counts from 1 */
    size_t count;
    struct entry_format formats[FORMATS_MAX];
    size_t format_count;
};

static bool keep_folder(struct folders *f, const uint8_t *at, size_t *cap)
{
    if (f->count >= DWARF_LINE_FILES_MAX)
        return false;
    if (!array_grow(&f->at, cap, f->count + 1, 64))
        return false;
    f->at[f->count++] = at;
    return true;
}

static struct span folder_text(struct program *p, const struct folders *f, uint64_t number,
                               char buffer[DWARF_NAME_MAX])
{
    struct program at = *p;
    struct path path;

    if (!number || number >= f->count)
        return SPAN_NULL;
    at.tables.p = f->at[number];
    return take_path(&at, f->formats, f->format_count, true, buffer, &path) ? path.text : SPAN_NULL;
}

/* Names files by tables of version 5. */
static void name_files(struct program *p, struct intern *strings, struct dwarf_files *files)
{
    struct entry_format formats[FORMATS_MAX];
    char name[DWARF_NAME_MAX], folder[DWARF_NAME_MAX];
    struct folders f = { 0 };
    size_t cap = 0, n;
    struct path path;
    uint64_t count;

    f.format_count = take_formats(p, f.formats);
    count = dwarf_take_uleb(&p->tables);
    for (uint64_t i = 0; f.format_count && i < count; i++) {
        if (!keep_folder(&f, p->tables.p, &cap) ||
            !take_path(p, f.formats, f.format_count, false, folder, &path))
            break;
    }
    n = take_formats(p, formats);
    count = dwarf_take_uleb(&p->tables);
    for (uint64_t i = 0; n && i < MIN(count, (uint64_t)files->count); i++) {
        if (!take_path(p, formats, n, files->names[i], name, &path))
            break;
        if (files->names[i])
            name_file(&path, folder_text(p, &f, path.folder, folder), strings, &files->names[i]);
    }
    free(f.at);
}

/* Names files by tables of version 4 or older. */
static void name_files_old(struct program *p, struct intern *strings, struct dwarf_files *files)
{
    struct folders f = { .formats = { { LNCT_PATH, DW_FORM_STRING } }, .format_count = 1 };
    struct dwarf_cursor *c = &p->tables;
    char folder[DWARF_NAME_MAX];
    size_t cap = 0;
    bool ok = keep_folder(&f, c->p, &cap); /* 0: the unit's own folder */

    while (ok && c->p < c->end && *c->p) {
        ok = keep_folder(&f, c->p, &cap);
        dwarf_take_string(c);
    }
    dwarf_take(c, 1);
    for (size_t i = 1; ok && i < files->count && c->p < c->end && *c->p; i++) {
        struct path path = { .text = dwarf_take_string(c) };

        path.folder = dwarf_take_uleb(c);
        dwarf_take_uleb(c);
        dwarf_take_uleb(c);
        path.text.n = MIN(path.text.n, (size_t)DWARF_NAME_MAX);
        if (c->past || !dwarf_budget_take(&p->d->chunks.budget, 1))
            break;
        if (files->names[i])
            name_file(&path, folder_text(p, &f, path.folder, folder), strings, &files->names[i]);
    }
    free(f.at);
}

/* Marks the files that need their names. */
static void mark_files(const struct program *p, const struct dwarf_scopes *scopes,
                       struct dwarf_files *files)
{
    uint32_t most = 0;

    for (size_t i = 0; i < p->count; i++)
        most = MAX(most, p->wanted[i].file);
    for (size_t i = 0; i < scopes->count; i++)
        most = MAX(most, scopes->list[i].call_file);
    files->count = MIN((size_t)most + 1, (size_t)DWARF_LINE_FILES_MAX);
    files->names = calloc(files->count, sizeof(*files->names));
    if (!files->names) {
        files->count = 0;
        return;
    }
    for (size_t i = 0; i < p->count; i++) {
        if (p->wanted[i].file < files->count && p->wanted[i].line)
            files->names[p->wanted[i].file] = WANTED;
    }
    for (size_t i = 0; i < scopes->count; i++) {
        if (scopes->list[i].call_file < files->count && scopes->list[i].call_line)
            files->names[scopes->list[i].call_file] = WANTED;
    }
}

/* Removes the marks of files that got no name. */
static void unmark_files(struct dwarf_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->names[i] == WANTED)
            files->names[i] = 0;
    }
}

void dwarf_find_lines(struct dwarf *d, struct dwarf_unit *u, struct dwarf_wanted *wanted,
                      size_t count, const struct dwarf_scopes *scopes, struct intern *strings,
                      struct dwarf_files *ret)
{
    struct program p = { .d = d, .unit = *u, .wanted = wanted, .count = count };
    _cleanup_free_ uint8_t *bytes = NULL;
    uint64_t length = 0, at = u->lines + 4;

    if (!u->has_lines || !dwarf_section_copy(&d->sections[DWARF_LINE], u->lines, &length, 4))
        return;
    p.unit.offset_bytes = 4;
    if (length == UINT32_MAX) {
        p.unit.offset_bytes = 8;
        at += 8;
        if (!dwarf_section_copy(&d->sections[DWARF_LINE], u->lines + 4, &length, 8))
            return;
    }
    bytes = length <= DWARF_LINES_MAX_BYTES ? malloc((size_t)length + 1) : NULL;
    if (!bytes || !dwarf_section_copy(&d->sections[DWARF_LINE], at, bytes, (size_t)length) ||
        !read_header(&p, bytes, (size_t)length)) {
        d->skipped += !d->chunks.budget.spent;
        return;
    }
    run(&p);
    mark_files(&p, scopes, ret);
    if (p.unit.version == 5)
        name_files(&p, strings, ret);
    else
        name_files_old(&p, strings, ret);
    unmark_files(ret);
}
