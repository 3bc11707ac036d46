/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the dwarf_*.c files only. */
#pragma once

#include "base/cleanup.h"
#include "dwarf/dwarf.h"
#include "dwarf/dwarf_section.h"

/* The DWARF constants that the reader uses. */
enum {
    DW_TAG_CLASS = 0x02,
    DW_TAG_LEXICAL_BLOCK = 0x0b,
    DW_TAG_COMPILE_UNIT = 0x11,
    DW_TAG_STRUCTURE = 0x13,
    DW_TAG_INLINED_SUBROUTINE = 0x1d,
    DW_TAG_SUBPROGRAM = 0x2e,
    DW_TAG_PARTIAL_UNIT = 0x3c,
    DW_TAG_SKELETON_UNIT = 0x4a,
};
enum {
    DW_AT_SIBLING = 0x01,
    DW_AT_NAME = 0x03,
    DW_AT_STMT_LIST = 0x10,
    DW_AT_LOW_PC = 0x11,
    DW_AT_HIGH_PC = 0x12,
    DW_AT_ABSTRACT_ORIGIN = 0x31,
    DW_AT_SPECIFICATION = 0x47,
    DW_AT_RANGES = 0x55,
    DW_AT_CALL_FILE = 0x58,
    DW_AT_CALL_LINE = 0x59,
    DW_AT_LINKAGE_NAME = 0x6e,
    DW_AT_STR_OFFSETS_BASE = 0x72,
    DW_AT_ADDR_BASE = 0x73,
    DW_AT_RNGLISTS_BASE = 0x74,
    DW_AT_DWO_NAME = 0x76,
    DW_AT_MIPS_LINKAGE_NAME = 0x2007,
    DW_AT_GNU_DWO_NAME = 0x2130,
};
enum {
    DW_FORM_ADDR = 0x01,
    DW_FORM_BLOCK2 = 0x03,
    DW_FORM_BLOCK4,
    DW_FORM_DATA2,
    DW_FORM_DATA4,
    DW_FORM_DATA8,
    DW_FORM_STRING,
    DW_FORM_BLOCK,
    DW_FORM_BLOCK1,
    DW_FORM_DATA1,
    DW_FORM_FLAG,
    DW_FORM_SDATA,
    DW_FORM_STRP,
    DW_FORM_UDATA,
    DW_FORM_REF_ADDR,
    DW_FORM_REF1,
    DW_FORM_REF2,
    DW_FORM_REF4,
    DW_FORM_REF8,
    DW_FORM_REF_UDATA,
    DW_FORM_INDIRECT,
    DW_FORM_SEC_OFFSET,
    DW_FORM_EXPRLOC,
    DW_FORM_FLAG_PRESENT,
    DW_FORM_STRX,
    DW_FORM_ADDRX,
    DW_FORM_REF_SUP4,
    DW_FORM_STRP_SUP,
    DW_FORM_DATA16,
    DW_FORM_LINE_STRP,
    DW_FORM_REF_SIG8,
    DW_FORM_IMPLICIT_CONST,
    DW_FORM_LOCLISTX,
    DW_FORM_RNGLISTX,
    DW_FORM_REF_SUP8,
    DW_FORM_STRX1,
    DW_FORM_STRX2,
    DW_FORM_STRX3,
    DW_FORM_STRX4,
    DW_FORM_ADDRX1,
    DW_FORM_ADDRX2,
    DW_FORM_ADDRX3,
    DW_FORM_ADDRX4,
    DW_FORM_GNU_REF_ALT = 0x1f20,
    DW_FORM_GNU_STRP_ALT = 0x1f21,
};
_Static_assert(DW_FORM_REF_ADDR == 0x10 && DW_FORM_SEC_OFFSET == 0x17 && DW_FORM_STRX == 0x1a &&
                   DW_FORM_DATA16 == 0x1e && DW_FORM_ADDRX4 == 0x2c,
               "forms are numbered in this order");

enum dwarf_sections {
    DWARF_INFO,
    DWARF_ABBREV,
    DWARF_STR,
    DWARF_LINE_STR,
    DWARF_STR_OFFSETS,
    DWARF_ADDR,
    DWARF_RNGLISTS,
    DWARF_RANGES,
    DWARF_ARANGES,
    DWARF_LINE,
    DWARF_SECTION_COUNT
};

/* ---- dwarf_cursor.c ---- */

/* A position in bytes of a file. Reads beyond their end give 0 and set @past. */
struct dwarf_cursor {
    const uint8_t *p, *end;
    bool past;
};

/* Returns a cursor at the first of @n bytes. */
static inline struct dwarf_cursor dwarf_cursor(const void *p, size_t n)
{
    return (struct dwarf_cursor){ p, (const uint8_t *)p + n, false };
}
/* Take a number and move behind it. dwarf_take_most() returns @max in place of a larger number. */
uint64_t dwarf_take(struct dwarf_cursor *c, unsigned bytes); /* 1 to 8 bytes, little endian */
uint64_t dwarf_take_uleb(struct dwarf_cursor *c);
uint64_t dwarf_take_most(struct dwarf_cursor *c, uint64_t max); /* unsigned LEB128, at most @max */
int64_t dwarf_take_sleb(struct dwarf_cursor *c);
/* Takes @n bytes; NULL if there are fewer. */
const uint8_t *dwarf_take_bytes(struct dwarf_cursor *c, uint64_t n);
/* Takes a string and its NUL. */
struct span dwarf_take_string(struct dwarf_cursor *c);

/* ---- dwarf_abbrev.c ---- */

struct dwarf_attribute {
    uint16_t name, form;
    int64_t constant; /* value of DW_FORM_IMPLICIT_CONST */
};

struct dwarf_abbrev {
    uint64_t code;
    uint32_t first, count; /* range in the attributes of the table */
    uint16_t tag;
    bool children;
};

struct dwarf_abbrevs {
    uint64_t offset, used;              /* offset in the section; turn of the last use */
    struct dwarf_abbrev *list;          /* owned, sorted by code */
    struct dwarf_attribute *attributes; /* owned */
    size_t count, cap, attribute_count, attribute_cap;
    bool broken;
};

struct dwarf_abbrev_cache {
    struct dwarf_abbrevs tables[DWARF_ABBREVS_KEPT];
    uint64_t turn;
};

/* Returns the table at @offset; NULL: not readable. Valid until the next call. */
const struct dwarf_abbrevs *dwarf_abbrevs_get(struct dwarf *d, uint64_t offset);
const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code);
size_t dwarf_abbrevs_bytes(const struct dwarf_abbrev_cache *c);
/* Frees the tables; the cache may be used again. */
void dwarf_abbrevs_clear(struct dwarf_abbrev_cache *c);

/* ---- dwarf_unit.c ---- */

struct dwarf_unit {
    uint64_t offset, first, end; /* section offsets of its header, first entry and end */
    uint64_t abbrevs;
    uint64_t low, addr_base, str_base, rnglists_base, lines; /* values from its first entry */
    uint16_t version;
    uint8_t offset_bytes; /* 4 or 8 */
    bool code;            /* may hold code; false: a unit of types, or not readable */
    bool listed;          /* its code is listed in .debug_aranges */
    bool begun;           /* its first entry was read */
    bool split;           /* its functions are in another file */
    bool has_lines;
};

struct dwarf_code {
    uint64_t start, end;
    uint32_t unit;
};

struct dwarf {
    struct dwarf_chunks chunks;
    struct dwarf_section sections[DWARF_SECTION_COUNT];
    struct dwarf_unit *units; /* owned, [unit_count], sorted by offset */
    size_t unit_count, unit_cap;
    struct dwarf_code *code; /* owned, [code_count], sorted by start */
    uint64_t *reach;         /* owned, [code_count]: largest end up to this range */
    size_t code_count, code_cap;
    bool units_known, code_known; /* the lists are complete */
    bool cut;                     /* units after a broken unit or beyond the limit are not listed */
    uint64_t next_unit;           /* offset where the list of units continues */
    size_t next_code;             /* index of the next unit to list code of */
    struct dwarf_abbrev_cache abbrevs;
    struct dwarf *alt; /* borrowed */
    uint8_t alt_id[DWARF_BUILD_ID_MAX];
    size_t alt_id_n;
    char alt_name[DWARF_ALT_NAME_MAX + 1]; /* "": none */
    uint64_t skipped;
};

/* Lists units and their code until the budget is spent. Return: true if the lists are complete. */
bool dwarf_list_code(struct dwarf *d);
/* Returns the unit with an entry at @offset; NULL: none. */
struct dwarf_unit *dwarf_unit_at(struct dwarf *d, uint64_t offset);
/* Returns the unit of the code at @address; NULL: none. */
struct dwarf_unit *dwarf_unit_of_code(struct dwarf *d, uint64_t address);
/* Reads the first entry of @u, once. Return: false if it cannot be read. */
bool dwarf_unit_begin(struct dwarf *d, struct dwarf_unit *u);

/* ---- dwarf_entry.c ---- */

struct dwarf_value {
    uint16_t form;    /* 0: the entry lacks the attribute */
    uint64_t u;       /* number, offset or index */
    struct span text; /* text of DW_FORM_STRING; points into the bytes read */
};

/* The attributes of one entry that the reader uses. */
struct dwarf_entry {
    const struct dwarf_abbrev *abbrev;
    struct dwarf_value sibling, name, linkage, low, high, ranges, origin, specification;
    struct dwarf_value call_file, call_line, lines, str_base, addr_base, rnglists_base, dwo;
};

/* Takes the attributes of an entry, behind its code. Return: false if they are cut off or of an
 * unknown form. */
bool dwarf_entry_take(struct dwarf_cursor *c, const struct dwarf_unit *u,
                      const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                      struct dwarf_entry *ret);
/* Skips the attributes of an entry, and gets the offset of its sibling in the section; 0: it has
 * none. Returns as dwarf_entry_take(). */
bool dwarf_entry_skip(struct dwarf_cursor *c, const struct dwarf_unit *u,
                      const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                      uint64_t *ret_sibling);
/* Takes a value of @form. */
bool dwarf_value_take(struct dwarf_cursor *c, const struct dwarf_unit *u, uint16_t form,
                      int64_t constant, struct dwarf_value *ret);
/* Gets the address in @v. Return: false if @v is no address or cannot be read. */
bool dwarf_value_address(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                         uint64_t *ret);
/* Returns the text of @v, in @buffer or in the bytes that @v points into. Empty: none. */
struct span dwarf_value_text(struct dwarf *d, const struct dwarf_unit *u,
                             const struct dwarf_value *v, char buffer[DWARF_NAME_MAX]);
/* Gets the entry that @v refers to: its file and its offset there. */
bool dwarf_value_entry(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_value *v,
                       struct dwarf **ret_d, uint64_t *ret_offset);

/* ---- dwarf_ranges.c ---- */

/* Calls @fn for each range of code of @e. Return: false if the ranges are broken or were not all
 * read. */
typedef void (*dwarf_range_fn)(void *cookie, uint64_t start, uint64_t end);
bool dwarf_ranges(struct dwarf *d, const struct dwarf_unit *u, const struct dwarf_entry *e,
                  dwarf_range_fn fn, void *cookie);
/* Returns whether @e may have code. */
static inline bool dwarf_has_code(const struct dwarf_entry *e)
{
    return e->ranges.form || (e->low.form && e->high.form);
}

/* ---- dwarf_name.c ---- */

/* Returns the name of the function at entry @offset, which may be an inlined copy, as a string of
 * @to; 0: none. */
uint32_t dwarf_function_name(struct dwarf *d, uint64_t offset, struct intern *to);

/* ---- dwarf_inline.c ---- */

/* A function that holds wanted addresses; a node of a tree. */
struct dwarf_scope {
    uint64_t entry;
    uint32_t parent; /* index + 1; 0: not inlined */
    uint32_t call_file, call_line;
    uint32_t name; /* string of the name; valid if `named` */
    bool named;
};

/* An address to look up. */
struct dwarf_wanted {
    uint64_t address;
    uint32_t unit, order; /* index + 1 of its unit, 0: none; index in the caller's list */
    uint32_t scope;       /* index + 1 of the innermost scope; 0: none */
    uint32_t file, line;
};
/* Returns the index of the first of @wanted, sorted by address, at or behind @address. */
size_t dwarf_first_wanted(const struct dwarf_wanted *wanted, size_t count, uint64_t address);

struct dwarf_scopes {
    struct dwarf_scope *list; /* owned */
    size_t count, cap;
};

/* Finds the scopes of @wanted, which are sorted by address and all in @u. Return: false if not all
 * scopes could be read. */
bool dwarf_find_scopes(struct dwarf *d, struct dwarf_unit *u, struct dwarf_wanted *wanted,
                       size_t count, struct dwarf_scopes *scopes);

/* ---- dwarf_line.c ---- */

/* The files of a unit. */
struct dwarf_files {
    uint32_t *names; /* owned, [count]: strings, by the file numbers of lines and calls; 0: none */
    size_t count;
};

/* Finds the lines of @wanted, and names the files of these lines and of the calls in @scopes. Lines
 * and names that are missing or broken are 0. */
void dwarf_find_lines(struct dwarf *d, struct dwarf_unit *u, struct dwarf_wanted *wanted,
                      size_t count, const struct dwarf_scopes *scopes, struct intern *strings,
                      struct dwarf_files *ret);
