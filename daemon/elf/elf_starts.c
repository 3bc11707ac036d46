/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the functions of a stripped file begin: .eh_frame_hdr, which the linker makes for
 * unwinders, has a sorted table of them. Found by the program header, as sections may be gone, too.
 */
#include "elf/elf_impl.h"

#define HDR_HEAD 12 /* version, three encodings, pointer, count */
#define HDR_ROW 8   /* start of a function, and of what describes it */
#define HDR_MAX_BYTES (HDR_HEAD + ELF_SYMBOLS_MAX * HDR_ROW)
/* DWARF's encodings: what all linkers write. */
#define ENC_PCREL_SDATA4 0x1b
#define ENC_UDATA4 0x03
#define ENC_DATAREL_SDATA4 0x3b

struct span elf_starts_bytes(struct elf_file *f, uint64_t *ret_vaddr)
{
    size_t count;

    if (f->symtab || elf_getphdrnum(f->elf, &count) < 0)
        return SPAN_NULL;
    for (size_t i = 0; i < MIN(count, (size_t)ELF_PROGRAM_HEADERS_MAX); i++) {
        Elf_Data *data;
        GElf_Phdr h;

        if (!gelf_getphdr(f->elf, (int)i, &h) || h.p_type != PT_GNU_EH_FRAME ||
            h.p_filesz < HDR_HEAD || h.p_filesz > HDR_MAX_BYTES || h.p_offset > INT64_MAX)
            continue;
        data = elf_getdata_rawchunk(f->elf, (int64_t)h.p_offset, (size_t)h.p_filesz, ELF_T_BYTE);
        if (!data || !data->d_buf || data->d_size != h.p_filesz)
            return SPAN_NULL;
        *ret_vaddr = h.p_vaddr;
        return (struct span){ data->d_buf, data->d_size };
    }
    return SPAN_NULL;
}

/* The end of the executable segment that holds @vaddr; 0: none does. */
static uint64_t code_end(const struct elf_file *f, uint64_t vaddr)
{
    for (size_t i = 0; i < f->segment_count; i++) {
        const struct elf_segment *s = &f->segments[i];

        if (s->exec && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size)
            return s->vaddr + s->file_size;
    }
    return 0;
}

int elf_file_starts(struct elf_file *f, struct symbol_builder *b)
{
    uint64_t base = 0;
    struct span table = elf_starts_bytes(f, &base);
    uint32_t rows;
    int r = 0;

    if (table.n < HDR_HEAD || table.p[0] != 1 || (uint8_t)table.p[1] != ENC_PCREL_SDATA4 ||
        (uint8_t)table.p[2] != ENC_UDATA4 || (uint8_t)table.p[3] != ENC_DATAREL_SDATA4)
        return 0;
    memcpy(&rows, table.p + 8, sizeof(rows));
    table = span_from(table, HDR_HEAD);
    for (uint32_t i = 0; i < rows && table.n >= HDR_ROW && r == 0; i++) {
        struct symbol_entry e = { .class = SYMBOL_FUNCTION, .faint = true };
        char name[2 + 2 + 16 + 1];
        int32_t start;

        memcpy(&start, table.p, sizeof(start));
        table = span_from(table, HDR_ROW);
        e.start = base + (uint64_t)(int64_t)start;
        e.limit = code_end(f, e.start);
        if (!e.limit)
            continue;
        snprintf(name, sizeof(name), "+0x%llx", (unsigned long long)e.start);
        r = symbol_builder_add(b, &e, span_of(name));
    }
    return r;
}
