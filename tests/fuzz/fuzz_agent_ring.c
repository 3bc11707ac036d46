/* SPDX-License-Identifier: Apache-2.0 */
/* The memory file that the agent writes, as a whole: header and ring, with false counters that
 * change between two readings. */
#include "attach/stream.h"

#include "base/macros.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ask(void *cookie, const struct code_piece *p)
{
    struct code_map *m = cookie;
    struct code_location at[CODE_MAP_FRAMES_MAX];

    if (p->start >= p->end || code_map_locate(m, p->start, p->from_ns, false, at) > ARRAY_SIZE(at))
        abort();
    return 0;
}

/* The input: a header, then where in the ring (in units of 8 bytes) the rest lies, and the rest. At
 * first the ring has half of the bytes that the header announces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_header h;
    struct stream *s = NULL;
    struct error err = ERROR_NULL;
    uint64_t at, head;
    size_t rest, first;
    int fd, look;

    if (size < sizeof(h) + sizeof(at))
        return 0;
    memcpy(&h, data, sizeof(h));
    memcpy(&at, data + sizeof(h), sizeof(at));
    h.magic = STREAM_MAGIC; /* otherwise it is not read */
    h.version = STREAM_VERSION;
    data += sizeof(h) + sizeof(at);
    rest = MIN(size - sizeof(h) - sizeof(at), (size_t)STREAM_RING_BYTES);
    at %= STREAM_RING_BYTES;
    first = MIN(rest, (size_t)(STREAM_RING_BYTES - at));
    head = h.head;
    h.head = head / 2;
    fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)STREAM_BYTES) < 0 ||
        pwrite(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
        pwrite(fd, data, first, (off_t)(STREAM_RING_AT + at)) != (ssize_t)first ||
        pwrite(fd, data + first, rest - first, (off_t)STREAM_RING_AT) != (ssize_t)(rest - first) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        abort();
    look = dup(fd);
    if (stream_open(fd, NULL, 0, &s, &err) < 0)
        abort();
    stream_poll(s, 1000);
    if (pwrite(look, &head, sizeof(head), offsetof(struct stream_header, head)) != sizeof(head))
        abort();
    if (stream_poll(s, 2000) == 0)
        code_map_each(stream_map(s), UINT64_MAX, ask, stream_map(s));
    if (stream_problem(s, &err) < 0 && !err.msg[0])
        abort();
    stream_close(s);
    close(look);
    return 0;
}
