/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a jar states about itself: the version in its manifest, and an identity of its contents. The
 * file may be hostile. Only parts of it are read, with fixed limits, and the most that is inflated
 * is JAR_MANIFEST_BYTES_MAX. A broken jar yields nothing. Pure; thread: any.
 */
#pragma once

#include "base/span.h"

#include <sys/types.h>

#define JAR_VERSION_BYTES 64
#define JAR_DIRECTORY_BYTES_MAX ((size_t)8 << 20) /* of its directory: some 80,000 entries */
#define JAR_MANIFEST_BYTES_MAX ((size_t)64 << 10) /* of the manifest, packed or not */
#define JAR_ENTRIES_LOOKED 1024 /* the manifest is among the first entries of a directory */

struct jar_facts {
    char version[JAR_VERSION_BYTES]; /* Implementation-Version, clean; "": not stated */
    /* A hash of its directory, which has sizes, times and checksums of all entries; 0: unknown */
    uint64_t identity;
};

/* Reads @n bytes at @at like pread(2). */
typedef ssize_t (*jar_read_fn)(void *cookie, uint64_t at, void *buf, size_t n);

/* Reads the facts of a jar of @size bytes. 0; -EBADMSG: it is no jar, or broken; -EFBIG: its
 * directory is too large; -errno: of @fn, or -ENOMEM. *ret is then all zero. */
int jar_read(uint64_t size, jar_read_fn fn, void *cookie, struct jar_facts *ret);
/* Gets the version in the manifest @text; empty: none. */
void jar_manifest_version(struct span text, char ret[JAR_VERSION_BYTES]);
