/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prevents web pages of other sites, and names rebound to this machine, from reaching flamed
 * through the browser of one of its users. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

/* Headers of a request as sent; p == NULL: not sent. */
struct origin_facts {
    struct span host, origin, referer, fetch_site;
    struct span purpose; /* Sec-Purpose, or Purpose of older browsers */
    size_t host_count, origin_count, referer_count, fetch_site_count; /* occurrences */
    bool unix_socket;           /* received on a Unix socket: Host is not checked, the file's mode
                                 * protects it */
    bool tls;                   /* received over TLS */
    bool probes_health;         /* /healthz by HTTP/1.0, as load balancers send it and browsers do
                                 * not: needs no Host header */
    const char *local_address;  /* numeric address that the client connected to; NULL for Unix
                                 * sockets */
    const char *const *allowed; /* names under which a reverse proxy serves flamed; borrowed */
    size_t allowed_count;
    const char *const *certificate; /* DNS names of this connection's certificate; pages of other
                                     * sites cannot use them; borrowed */
    size_t certificate_count;
};

/* Checks the origin of a request. 0, or -EACCES with the sentence and the remedy. */
int origin_check(const struct origin_facts *f, struct error *err);
