/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of files that flamed-broker made in memory, because the file system that they lie on may
 * never answer (broker/target/trusted_fs.h). They are memory of this machine for as long as they
 * are open: holders take it of base/memory_budget.h. Thread: any.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Bytes of the copy @fd; 0 where it is none. */
static inline uint64_t sealed_bytes(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    return seals >= 0 && seals & F_SEAL_WRITE && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}
