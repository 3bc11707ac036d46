/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of a request: a token, a name with a password, or the certificate of its TLS
 * connection. Thread: the request's.
 */
#pragma once

#include "serve/serve_impl.h"

enum shown {
    SHOWN_NOTHING, /* no token or password of a configured kind, no certificate with a rule */
    SHOWN_RIGHT,   /* valid; req->who.subject is set */
    SHOWN_WRONG,   /* invalid; the answer is complete */
    SHOWN_ASK,     /* a worker must run credentials_check(), then call again */
};

/* Checks the credentials of @req. @header, @count: the Authorization headers. */
enum shown credentials_of(struct request *req, struct span header, size_t count);
/* Checks the password of @req against its hash. Thread: a worker's; takes up to a second. */
void credentials_check(struct request *req);
/* Checks the certificate of the connection by the TLS configuration in force and the present time.
 * False: the connection ends, and the answer says why. */
bool credentials_connection(struct request *req);
/* Erases the password. */
void credentials_forget(struct request *req);
/* Answers 401 with the accepted kinds of credentials. */
void credentials_challenge(struct request *req, const char *sentence);
