/* SPDX-License-Identifier: Apache-2.0 */
/* Hides secrets in the answers of engines, which flamed shows. Pure; thread: any. */
#pragma once

#include "push/pusher_abi.h"

#define HIDE_BYTES_MIN 4 /* shorter secrets would hide parts of ordinary words */
#define HIDE_SECRETS_MAX 64

/* Copies the printable part of @text, with "[hidden]" for each secret of @words. Secrets are a
 * password and the values of headers, also as base64 of basic authorization. @words: the words of
 * PUSHER_TARGET and an empty word, or NULL. */
void hide_copy(const char *words, struct span text, char to[PUSHER_TEXT_BYTES]);
