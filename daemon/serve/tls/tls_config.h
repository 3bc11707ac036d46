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

/* What clients have to show. Certificates that are not verified prove nothing. */
enum tls_client_auth {
    TLS_CLIENT_NONE,            /* NoClientCert */
    TLS_CLIENT_REQUEST,         /* RequestClientCert */
    TLS_CLIENT_REQUIRE_ANY,     /* RequireAnyClientCert */
    TLS_CLIENT_VERIFY_IF_GIVEN, /* VerifyClientCertIfGiven */
    TLS_CLIENT_REQUIRE,         /* RequireAndVerifyClientCert */
};

struct tls_config {
    char paths[TLS_FILE_END][TLS_PATH_MAX + 1]; /* as they are written; "": not given */
    enum tls_version min_version, max_version;
    enum tls_client_auth client_auth;
};

/* Returns whether clients' certificates are verified; NULL: no. */
static inline bool tls_config_verifies(const struct tls_config *c)
{
    return c && c->client_auth >= TLS_CLIENT_VERIFY_IF_GIVEN;
}

/* Reads `tls_server_config` out of the YAML document @text and passes by every other key. @file is
 * only named in sentences. 0 and *ret (owned, free(); NULL: there is none); -EINVAL with a
 * sentence; -ENOMEM. */
int tls_config_parse(struct span text, const char *file, struct tls_config **ret,
                     struct error *err);
