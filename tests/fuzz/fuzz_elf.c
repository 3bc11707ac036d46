/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files: for any input, reading ends, stays within bounds, and gives sorted ranges that do not
 * overlap. */
#include "elf/elf_file.h"

#include "base/cleanup.h"

#include <sys/mman.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t print_again(struct elf_file *f, const struct fingerprint_key *key)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };

    symbol_builder_init(&b, 100000, 1 << 20);
    elf_file_begin_print(f, key);
    elf_file_symbols(f, &b);
    elf_file_starts(f, &b);
    return elf_file_print(f);
}

static void check(struct elf_file *f)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    const struct fingerprint_key key = { 1, 2 };
    char name[ELF_DEBUGLINK_NAME_MAX + 1];
    size_t count;
    const struct elf_segment *segments = elf_file_segments(f, &count);
    uint64_t vaddr;
    uint32_t crc;

    symbol_builder_init(&b, 100000, 1 << 20);
    elf_file_begin_print(f, &key);
    if (elf_file_symbols(f, &b) < 0 || elf_file_starts(f, &b) < 0 || symbol_table_build(&b, &t) < 0)
        return;
    for (size_t i = 0; i < t.count; i++) {
        if (!t.symbols[i].bytes || (i && symbol_end(&t.symbols[i - 1]) > t.symbols[i].start))
            abort();
        if (symbol_table_find(&t, t.symbols[i].start) != &t.symbols[i])
            abort();
    }
    if (elf_file_debuglink(f, name, &crc) && strchr(name, '/'))
        abort();
    for (size_t i = 0; i < count; i++)
        elf_segments_vaddr(segments, count, segments[i].offset, &vaddr);
    if (elf_file_print(f) != print_again(f, &key))
        abort();
}

/* Reads the same bytes from a file, with the same result. */
static void check_file(const uint8_t *data, size_t size, bool is_elf)
{
    _cleanup_(elf_file_closep) struct elf_file *f = NULL;
    _cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
    uint32_t crc = (uint32_t)crc32(0, data, (uInt)size);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return;
    if ((elf_file_open(fd, &f, NULL) == 0) != is_elf)
        abort();
    if (!elf_crc_matches(fd, crc) || elf_crc_matches(fd, crc + 1))
        abort();
    if (f)
        check(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(elf_file_closep) struct elf_file *f = NULL, *mini = NULL;
    _cleanup_buf_ struct buf bytes = BUF_NULL;

    buf_init(&bytes, (size_t)16 << 20);
    buf_add(&bytes, data, size);
    elf_file_open_memory(&bytes, &f, NULL);
    check_file(data, size, f);
    if (!f)
        return 0;
    check(f);
    if (elf_file_mini(f, &mini) == 0)
        check(mini);
    return 0;
}
