/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the symbols of a stripped file: .gnu_debuglink and MiniDebugInfo. */
#include "elf/elf_impl.h"

#include "base/cleanup.h"

#include <lzma.h>
#include <zlib.h>

bool elf_file_debuglink(struct elf_file *f, char ret_name[ELF_DEBUGLINK_NAME_MAX + 1],
                        uint32_t *ret_crc)
{
    size_t n;
    _cleanup_free_ char *bytes = elf_section_bytes(f, f->debuglink, 4096, &n);
    struct span s = { bytes, n }, name = s;

    name.n = strnlen(s.p ? s.p : "", s.n);
    if (!name.n || name.n > ELF_DEBUGLINK_NAME_MAX || name.n == s.n ||
        span_find(name, '/') < name.n || span_eq_str(name, ".") || span_eq_str(name, ".."))
        return false;
    s = span_from(s, (name.n + 4) & ~(size_t)3); /* skip a NUL, and padding to a multiple of four */
    if (s.n < sizeof(*ret_crc))
        return false;
    memcpy(ret_crc, s.p, sizeof(*ret_crc));
    span_copy(name, ret_name, ELF_DEBUGLINK_NAME_MAX + 1);
    return true;
}

bool elf_crc_matches(int fd, uint32_t crc)
{
    size_t chunk = (size_t)256 << 10;
    _cleanup_free_ unsigned char *bytes = malloc(chunk);
    uLong sum = crc32(0, NULL, 0);
    uint64_t at = 0;
    ssize_t n = 0;

    if (!bytes)
        return false;
    while (at <= ELF_FILE_MAX_BYTES && (n = pread(fd, bytes, chunk, (off_t)at)) > 0) {
        sum = crc32(sum, bytes, (uInt)n);
        at += (uint64_t)n;
    }
    return n == 0 && sum == crc;
}

static int unpack(struct span packed, struct buf *out)
{
    lzma_stream xz = LZMA_STREAM_INIT;
    uint8_t chunk[16384];
    lzma_ret r = lzma_stream_decoder(&xz, ELF_XZ_MEMORY_MAX_BYTES, 0);

    if (r != LZMA_OK)
        return r == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
    xz.next_in = (const uint8_t *)packed.p;
    xz.avail_in = packed.n;
    while (r == LZMA_OK && !out->error) {
        xz.next_out = chunk;
        xz.avail_out = sizeof(chunk);
        r = lzma_code(&xz, LZMA_FINISH);
        buf_add(out, chunk, sizeof(chunk) - xz.avail_out);
    }
    lzma_end(&xz);
    if (out->error == -ENOMEM || r == LZMA_MEM_ERROR)
        return -ENOMEM;
    return r == LZMA_STREAM_END && !out->error ? 0 : -EBADMSG;
}

int elf_file_mini(struct elf_file *f, struct elf_file **ret)
{
    _cleanup_buf_ struct buf bytes = BUF_UPTO(ELF_MINI_MAX_BYTES);
    size_t n;
    _cleanup_free_ char *packed = elf_section_bytes(f, f->debugdata, ELF_MINI_PACKED_MAX_BYTES, &n);
    int r;

    if (!n)
        return 1;
    r = unpack((struct span){ packed, n }, &bytes) ?: elf_file_open_memory(&bytes, ret, NULL);
    return r == 0 || r == -ENOMEM ? r : 1;
}
