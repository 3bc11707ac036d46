/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/given.h"

#include "base/cleanup.h"
#include "base/macros.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* With less than this, closed files may wait for the next given_forget_closed(). */
#define SLACK_BYTES (UINT64_C(4) << 20)
#define SLACK_FILES 64
#define BLOCK_BYTES 512 /* of st_blocks */

/* Returns true if the broker made the file @fd (memfd_open(), memfd_seal()), and its bytes. A
 * target's own sealed file may look the same, but is only open for reading (file_open()). It must
 * not count: the target keeps it open, so no lease would ever show that flamed has closed it. */
static bool is_made(int fd, uint64_t *ret_bytes)
{
    const int all = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    int seals = fcntl(fd, F_GET_SEALS), flags = fcntl(fd, F_GETFL);
    struct stat st;

    if (seals < 0 || (seals & all) != all || flags < 0 || (flags & O_ACCMODE) != O_RDWR ||
        fstat(fd, &st) < 0)
        return false;
    *ret_bytes = (uint64_t)st.st_blocks * BLOCK_BYTES;
    return true;
}

void given_forget_closed(struct given *g)
{
    for (size_t i = g->count; i > 0; i--) {
        struct given_file *f = &g->files[i - 1];

        if (fcntl(f->fd, F_SETLEASE, F_WRLCK) < 0 && (errno == EAGAIN || errno == EACCES))
            continue; /* another process has the file open */
        close_fd(f->fd);
        g->bytes -= f->bytes;
        *f = g->files[--g->count];
    }
}

static int take_one(struct given *g, int *fd, uint64_t bytes, uint64_t max_bytes, struct error *err)
{
    _cleanup_close_ int own = -1, theirs = -1;

    if (g->count >= SLACK_FILES || g->bytes > SLACK_BYTES)
        given_forget_closed(g);
    if (g->count == GIVEN_FILES_MAX || bytes > max_bytes - MIN(g->bytes, max_bytes)) {
        error_set(err, -EDQUOT,
                  "flamed has %zu files in memory open that flamed-broker made, with %ju MiB: it "
                  "gets no more of them",
                  g->count, (uintmax_t)g->bytes >> 20);
        error_remedy(err, "restart flamed if this stays");
        return -EDQUOT;
    }
    signal(SIGIO, SIG_IGN); /* of broken leases, which are held only for a moment */
    own = memfd_open_again(*fd, O_RDONLY);
    theirs = own < 0 ? own : memfd_open_again(*fd, O_RDONLY);
    if (theirs < 0)
        return error_code(err, theirs, "cannot open a file in memory once more");
    close_fd(*fd);
    *fd = take_fd(&theirs);
    g->files[g->count++] = (struct given_file){ take_fd(&own), bytes };
    g->bytes += bytes;
    return 0;
}

int given_take(struct given *g, int *fds, size_t n, uint64_t max_bytes, struct error *err)
{
    uint64_t bytes = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        if (is_made(fds[i], &bytes))
            r = take_one(g, &fds[i], bytes, max_bytes, err);
    }
    return r;
}

void given_deinit(struct given *g)
{
    while (g->count)
        close_fd(g->files[--g->count].fd);
    g->bytes = 0;
}
