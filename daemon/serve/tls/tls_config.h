/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads `tls_server_config` of the configuration, in the format of Prometheus' web configuration.
 * Immutable once read; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "base/tls_paths.h"

enum tls_version { TLS_VERSION_12, TLS_VERSION_13 };

/* What clients must present. Certificates that are not verified prove nothing. */
enum tls_client_auth {
    TLS_CLIENT_NONE,            /* NoClientCert */
    TLS_CLIENT_REQUEST,         /* RequestClientCert */
    TLS_CLIENT_REQUIRE_ANY,     /* RequireAnyClientCert */
    TLS_CLIENT_VERIFY_IF_GIVEN, /* VerifyClientCertIfGiven */
    TLS_CLIENT_REQUIRE,         /* RequireAndVerifyClientCert */
};

struct tls_config {
    char paths[TLS_FILE_END][TLS_PATH_MAX + 1]; /* as written in the file; "": not given */
    enum tls_version min_version, max_version;
    enum tls_client_auth client_auth;
};

/* Returns whether @c has clients' certificates verified. @c may be NULL: false. */
static inline bool tls_config_verifies(const struct tls_config *c)
{
    return c && c->client_auth >= TLS_CLIENT_VERIFY_IF_GIVEN;
}

/* Reads `tls_server_config` of the YAML document @text and ignores every other key. @file is only
 * named in sentences. Return: 0 and *ret (owned, free(); NULL: the key is absent); -EINVAL with a
 * sentence; -ENOMEM. */
int tls_config_parse(struct span text, const char *file, struct tls_config **ret,
                     struct error *err);
