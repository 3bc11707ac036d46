/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of files that flamed-broker made in memory, because their file system may never answer
 * (broker/target/trusted_fs.h). A copy takes memory while it is open, so its holder charges it to
 * base/memory_budget.h. Thread: any.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Returns the bytes of the copy @fd; 0 if it is no such copy. */
static inline uint64_t sealed_bytes(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    return seals >= 0 && seals & F_SEAL_WRITE && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}
