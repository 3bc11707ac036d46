/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration says under `tls_server_config`, in the words of Prometheus' web
 * configuration. Immutable once read; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "base/tls_paths.h"

enum tls_version { TLS_VERSION_12, TLS_VERSION_13 };

struct tls_config {
    char paths[TLS_FILE_END][TLS_PATH_MAX + 1]; /* as they are written; "": not given */
    enum tls_version min_version, max_version;
};

/* Reads `tls_server_config` out of the YAML document @text and passes by every other key. @file is
 * only named in sentences. 0 and *ret (owned, free(); NULL: there is none); -EINVAL with a
 * sentence; -ENOMEM. */
int tls_config_parse(struct span text, const char *file, struct tls_config **ret,
                     struct error *err);
