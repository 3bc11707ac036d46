/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 with the usual alphabet (RFC 4648, section 4). Pure; thread: any. */
#pragma once

#include "base/span.h"

/* Decodes @in into @ret, which has room for @max bytes. Strict: with its padding, and nothing else
 * between. False: @in is empty or no base64, or does not fit; then *ret is undefined. */
bool base64_decode(struct span in, char *ret, size_t max, size_t *ret_n);
