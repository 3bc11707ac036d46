/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request shows to name its client: a token, a name with a password, or the certificate of
 * its TLS connection. Thread: the request's.
 */
#pragma once

#include "serve/serve_impl.h"

enum shown {
    SHOWN_NOTHING, /* that the configuration knows of */
    SHOWN_RIGHT,   /* req->subject is who that is */
    SHOWN_WRONG,   /* the answer says so */
    SHOWN_ASK,     /* a worker has to call credentials_check(), then this is to be called again */
};

/* @header, @count: the Authorization headers. */
enum shown credentials_of(struct request *req, struct span header, size_t count);
/* Holds the password of @req against its hash. Thread: a worker's; takes up to a second. */
void credentials_check(struct request *req);
/* Judges the certificate of the connection by what is in force, and by the time. False: it ends,
 * and the answer says why. */
bool credentials_connection(struct request *req);
/* Forgets the password. */
void credentials_forget(struct request *req);
/* 401, which says what may be shown. */
void credentials_challenge(struct request *req, const char *sentence);
