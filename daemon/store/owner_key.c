/* SPDX-License-Identifier: Apache-2.0 */
#include "store/owner_key.h"

#include "base/cleanup.h"
#include "base/span.h"
#include "store/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE STORE_FILE_HISTORY "-owners"
#define KEY_BYTES 34 /* two numbers of 16 digits, a space and a newline */

/* Parses "K0 K1\n". A file that was not written whole has no newline. */
static bool take_key(struct span text, struct fingerprint_key *ret)
{
    struct fingerprint_key key;

    if (text.n != KEY_BYTES || !span_take_hex(&text, &key.k0) || !span_take_char(&text, ' ') ||
        !span_take_hex(&text, &key.k1) || !span_take_char(&text, '\n') || text.n ||
        (!key.k0 && !key.k1))
        return false;
    *ret = key;
    return true;
}

int store_owner_key(int folder_fd, bool replace, struct fingerprint_key *key)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    _cleanup_close_ int fd = openat(folder_fd, KEY_FILE, O_RDWR | O_CREAT | flags, 0600);
    char text[KEY_BYTES + 1] = "";
    struct stat st;
    ssize_t n;

    if (fd < 0 && errno == EROFS)
        fd = openat(folder_fd, KEY_FILE, O_RDONLY | flags);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return -EPERM;
    n = pread(fd, text, KEY_BYTES, 0);
    if (!replace && n > 0 && take_key((struct span){ text, (size_t)n }, key))
        return 0;
    snprintf(text, sizeof(text), "%016jx %016jx\n", (uintmax_t)key->k0, (uintmax_t)key->k1);
    errno = ENOSPC; /* a short write */
    return pwrite(fd, text, KEY_BYTES, 0) == KEY_BYTES ? 0 : -errno;
}
