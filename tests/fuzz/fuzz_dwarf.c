/* SPDX-License-Identifier: Apache-2.0 */
/* Debug information: for any input, a look-up ends, stays within bounds, and gives each address
 * valid frames and strings. */
#include "base/cleanup.h"
#include "dwarf/dwarf_impl.h"

#include <sys/mman.h>

#define ADDRESSES_MAX 256
#define CPU_NS UINT64_C(50000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Chooses addresses in and around the code that the file describes. */
static size_t choose_addresses(struct dwarf *d, uint64_t addresses[ADDRESSES_MAX])
{
    size_t count = 0;

    dwarf_budget_begin(&d->chunks.budget, CPU_NS);
    addresses[count++] = 0;
    addresses[count++] = UINT64_MAX;
    for (size_t i = 0; dwarf_list_code(d) && i < d->code_count && count + 16 <= ADDRESSES_MAX;
         i++) {
        uint64_t start = d->code[i].start, step = (d->code[i].end - start) / 14;

        for (unsigned k = 0; k < 16; k++)
            addresses[count++] = start + k * step;
    }
    return count;
}

static void check(struct dwarf *d)
{
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers a = { 0 };
    uint64_t addresses[ADDRESSES_MAX];
    size_t count = choose_addresses(d, addresses);

    if (dwarf_look_up(d, addresses, count, CPU_NS, &a) < 0)
        return;
    if (a.count != count || d->chunks.count > DWARF_CHUNKS_MAX)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct dwarf_answer *of = &a.of[i];

        if ((of->state == DWARF_FOUND) != (of->count > 0) || of->count > DWARF_FRAMES_MAX ||
            of->first + of->count > a.frame_count)
            abort();
        for (size_t k = 0; k < of->count; k++) {
            const struct dwarf_frame *f = &a.frames[of->first + k];

            if (f->name >= MAX(intern_count(a.strings), 1u) ||
                f->file >= MAX(intern_count(a.strings), 1u))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(dwarf_closep) struct dwarf *d = NULL, *alt = NULL;
    _cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || dwarf_open(fd, &d) < 0)
        return 0;
    check(d);
    if (dwarf_open(fd, &alt) == 0) { /* it is its own shared file */
        dwarf_set_alt(d, alt);
        check(d);
    }
    return 0;
}
