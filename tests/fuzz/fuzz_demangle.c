/* SPDX-License-Identifier: Apache-2.0 */
/* namer_name(): whatever the library does with a symbol, it gets a name of bounded length in
 * bounded time. */
#include "base/clock.h"
#include "namer/mangled.h"
#include "namer/namer.h"
#include "namer/namer_process.h"

#define SOON_NS (60 * NSEC_PER_SEC)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct namer *namer;
    static uint64_t owner; /* a new one each time, with its own budget */
    static int fd = -1;
    struct span symbol = { (const char *)data, size };
    _cleanup_buf_ struct buf out = BUF_NULL;

    if (!namer && (namer_fork(&fd, NULL) < 0 || namer_new(fd, -1, &namer) < 0))
        abort();
    buf_init(&out, (size_t)1 << 20);
    if (namer_name_wait(namer, ++owner, symbol, clock_monotonic_ns() + SOON_NS, &out) != 0)
        abort();
    if (!out.error && out.n > MAX(size, (size_t)DEMANGLED_NAME_MAX))
        abort();
    return 0;
}
