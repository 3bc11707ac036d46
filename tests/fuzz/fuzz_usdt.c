/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's rule for the marks of a file: whatever it says, a probe stands at a no-op alone. */
#include "broker/usdt.h"

#include "base/cleanup.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACES 8

/* Checks the places that the rules of @machine find in @fd. Its no-op is @nop of @nop_bytes. */
static void check(uint16_t machine, int fd, const char *nop, size_t nop_bytes,
                  uint32_t registers_max)
{
    static const struct usdt_wanted WANTED[] = { { "p", "begin", { 0 } },
                                                 { "p", "named", { 1, 2 } } };
    struct usdt_place places[PLACES];
    struct error err = ERROR_NULL;
    uint8_t code[4];
    int n;

    n = usdt_find_of(machine, fd, WANTED, ARRAY_SIZE(WANTED), places, PLACES, &err);
    if (n < 0 ? n != -EPERM || !err.msg[0] : n > PLACES)
        abort();
    for (int i = 0; i < n; i++) {
        const struct usdt_place *p = &places[i];

        if (pread(fd, code, nop_bytes, (off_t)p->offset) != (ssize_t)nop_bytes ||
            memcmp(code, nop, nop_bytes) != 0 || p->wanted >= ARRAY_SIZE(WANTED))
            abort();
        for (size_t k = 0; k < USDT_OPERANDS_MAX; k++) {
            const struct usdt_operand *o = &p->operands[k];

            if (o->where == USDT_NOWHERE
                    ? o->bytes || o->reg || o->disp
                    : o->where > USDT_MEMORY || o->reg > registers_max || k > 1 || p->wanted == 0 ||
                          (o->bytes != 4 && o->bytes != 8))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    check(EM_X86_64, fd, "\x90", 1, 15);
    check(EM_AARCH64, fd, "\x1f\x20\x03\xd5", 4, 31);
    return 0;
}
