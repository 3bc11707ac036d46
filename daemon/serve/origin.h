/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps web pages of other sites, and names that were rebound to this machine, from reaching flamed
 * through a browser of one of its users. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

/* Headers of a request as they came; p == NULL: not sent. */
struct origin_facts {
    struct span host, origin, referer, fetch_site;
    struct span purpose; /* Sec-Purpose, or Purpose of older browsers */
    size_t host_count, origin_count, referer_count, fetch_site_count; /* of such headers */
    bool unix_socket;           /* came over a Unix socket: only the file's rights count for Host */
    bool tls;                   /* came over TLS */
    bool probes_health;         /* asks for /healthz by HTTP/1.0, as load balancers do: browsers do
                                 * not, and so it needs no Host header */
    const char *local_address;  /* numeric address that the client connected to; NULL for unix */
    const char *const *allowed; /* names that a reverse proxy serves us under; borrowed */
    size_t allowed_count;
    const char *const *certificate; /* names that the certificate of this connection is for: a page
                                     * of another site cannot come by them; borrowed */
    size_t certificate_count;
};

/* 0, or -EACCES with the sentence and the remedy. */
int origin_check(const struct origin_facts *f, struct error *err);
