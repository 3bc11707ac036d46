/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of tls_server_config, which the broker opens because flamed's process has no right to.
 * They are read when flamed starts, on SIGHUP, and when they have changed. Thread: main's.
 */
#pragma once

#include "engine/engine.h"
#include "serve/tls/tls.h"

#define TLS_FILES_LOOK_MS 5000 /* between two looks at the files */

/* Reads the files that @c names. Returns 0 and *ret, owned; or -errno with @err. */
int tls_files_load(struct engine *e, const struct tls_config *c, struct tls **ret,
                   struct error *err);
/* Does the same if the files differ from those of @now. Returns 1 if they are equal. */
int tls_files_look(struct engine *e, const struct tls_config *c, const struct tls *now,
                   struct tls **ret, struct error *err);
