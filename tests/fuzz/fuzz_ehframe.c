/* SPDX-License-Identifier: Apache-2.0 */
/* .eh_frame, as a bare section and inside an ELF file. For any input, the rows are a sorted table,
 * and contain only values that the unwinder knows. */
#include "unwind_tables/ehframe.h"

#include "base/cleanup.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ehframe_table *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].base >= UNWIND_BASE_COUNT || (i && t->rows[i - 1].pc >= t->rows[i].pc))
            abort();
    }
    if (t->count && t->rows[t->count - 1].base != UNWIND_BASE_NONE)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ehframe_table section = { 0 }, file = { 0 };
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct error err = ERROR_NULL;
    uint64_t bias;
    int r;

    for (int isa = CFA_X86_64; isa <= CFA_AARCH64; isa++) {
        if (ehframe_parse((struct span){ (const char *)data, size }, 0x10000, (enum cfa_isa)isa,
                          &section) == 0) {
            ehframe_tidy(&section);
            check(&section);
        }
        ehframe_deinit(&section);
    }
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    r = ehframe_read(fd, &file, &err);
    if (r == 0) {
        check(&file);
        ehframe_bias(file.segments, file.segment_count, 0x7f0000000000, 0x1000, &bias);
    } else if (!err.msg[0]) {
        abort();
    }
    ehframe_deinit(&file);
    return 0;
}
