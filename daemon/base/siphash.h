/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keyed hash of foreign bytes (SipHash-2-4). Files with the same hash count as the same file. The
 * key is secret, so a container cannot make a file that passes for another container's. Pure;
 * thread: any.
 */
#pragma once

#include "base/span.h"

struct fingerprint_key {
    uint64_t k0, k1;
};

/* Returns a key made of the random bytes that the kernel gave this process at its start. */
struct fingerprint_key fingerprint_key_new(void);
uint64_t fingerprint(const struct fingerprint_key *key, struct span bytes);
