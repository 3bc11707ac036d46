/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions of a stripped file. .eh_frame_hdr, which the linker makes for unwinders, has
 * a sorted table of them. The table is found by its program header, as sections may be stripped,
 * too. It lacks the functions of a native image; their code shows these.
 */
#include "elf/elf_impl.h"

#include "base/cleanup.h"
#include "elf/image_code.h"

#define HDR_HEAD 12 /* version, three encodings, pointer, count */
#define HDR_ROW 8   /* address of a function, and of its FDE */
#define HDR_MAX_BYTES (HDR_HEAD + ELF_SYMBOLS_MAX * HDR_ROW)
/* DWARF's encodings, which all linkers write. */
#define ENC_PCREL_SDATA4 0x1b
#define ENC_UDATA4 0x03
#define ENC_DATAREL_SDATA4 0x3b

/* Gets the program header of .eh_frame_hdr. Return: false if the file has none. */
static bool find_table(const struct elf_file *f, Elf64_Phdr *ret)
{
    for (size_t i = 0; i < f->layout.program_count; i++) {
        *ret = f->layout.programs[i];
        if (ret->p_type == PT_GNU_EH_FRAME && ret->p_filesz >= HDR_HEAD &&
            ret->p_filesz <= HDR_MAX_BYTES)
            return true;
    }
    return false;
}

/* Returns the end of the executable segment that holds @vaddr; 0: none does. */
static uint64_t code_end(const struct elf_file *f, uint64_t vaddr)
{
    for (size_t i = 0; i < f->segment_count; i++) {
        const struct elf_segment *s = &f->segments[i];

        if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size)
            return s->vaddr + s->file_size;
    }
    return 0;
}

/* Adds the function at @start. A symbol without a size may overlap it, but not in a native image,
 * where all functions are known. */
static int add_start(const struct elf_file *f, uint64_t start, struct symbol_builder *b)
{
    struct symbol_entry e = { .start = start,
                              .limit = code_end(f, start),
                              .class = f->native_image ? SYMBOL_LABEL : SYMBOL_FUNCTION,
                              .faint = !f->native_image };
    char name[2 + 2 + 16 + 1];

    if (!e.limit)
        return 0;
    snprintf(name, sizeof(name), "+0x%llx", (unsigned long long)e.start);
    return symbol_builder_add(b, &e, span_of(name));
}

/* Checks the header of the table, and gets its number of rows. */
static bool take_head(const char *p, uint32_t *ret_rows)
{
    memcpy(ret_rows, p + 8, sizeof(*ret_rows));
    return p[0] == 1 && (uint8_t)p[1] == ENC_PCREL_SDATA4 && (uint8_t)p[2] == ENC_UDATA4 &&
           (uint8_t)p[3] == ENC_DATAREL_SDATA4;
}

/* Adds a function for each row of .eh_frame_hdr. */
static int add_rows(struct elf_file *f, struct symbol_builder *b)
{
    _cleanup_(elf_window_close) struct elf_window w = { 0 };
    size_t used = 0;
    uint32_t rows;
    Elf64_Phdr h;
    int r;

    if (!find_table(f, &h))
        return 0;
    elf_print_add(f, &h.p_vaddr, sizeof(h.p_vaddr));
    r = elf_window_open(f, h.p_offset, h.p_filesz, &w);
    if (r < 0)
        return r == -EBADMSG ? 0 : r;
    if (!elf_window_next(&w, 0) || w.n < HDR_HEAD || !take_head(w.bytes, &rows))
        return 0;
    used = HDR_HEAD;
    do {
        for (; used + HDR_ROW <= w.n && rows && r == 0; used += HDR_ROW, rows--) {
            int32_t start;

            memcpy(&start, w.bytes + used, sizeof(start));
            r = add_start(f, h.p_vaddr + (uint64_t)(int64_t)start, b);
        }
        if (!elf_window_next(&w, w.n - used))
            break;
        used = 0;
    } while (r == 0);
    return r;
}

struct image_starts {
    const struct elf_file *f;
    struct symbol_builder *b;
};

static int add_function(void *cookie, const struct image_function *function)
{
    const struct image_starts *s = cookie;

    return add_start(s->f, function->start, s->b);
}

/* Adds the functions of a native image. */
static int add_image(struct elf_file *f, struct symbol_builder *b)
{
    struct image_starts starts = { f, b };
    _cleanup_(image_code_freep) struct image_code *code = NULL;
    _cleanup_(elf_window_close) struct elf_window w = { 0 };
    size_t used = 0;
    int r;

    if (!f->native_image)
        return 0;
    r = elf_window_open(f, f->image_code.sh_offset,
                        MIN(f->image_code.sh_size, IMAGE_CODE_MAX_BYTES), &w)
            ?: image_code_new(f->image_code.sh_addr, add_function, &starts, &code);
    while (r == 0 && elf_window_next(&w, w.n - used))
        r = image_code_read(code, (struct span){ w.bytes, w.n }, w.left == 0, &used);
    return r == -EBADMSG ? 0 : r;
}

int elf_file_starts(struct elf_file *f, struct symbol_builder *b)
{
    int r = f->symtab ? 0 : add_rows(f, b);

    return r < 0 ? r : add_image(f, b);
}
