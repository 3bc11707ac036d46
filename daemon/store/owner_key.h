/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of the owners' numbers (proc_owner()) in the store's folder. Rows of the history have
 * such numbers, so the next flamed must number owners in the same way. Else each restart would give
 * an owner a new share.
 */
#pragma once

#include "base/siphash.h"

#include <stdbool.h>

/* Gets the key in the folder @folder_fd. If there is none, or with @replace, writes *key there.
 * Return: 0; -errno: *key is unchanged, and not in the folder. */
int store_owner_key(int folder_fd, bool replace, struct fingerprint_key *key);
