/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did what: a line of JSON in the log for each capture, attach, removal, trigger, login and
 * refusal, and the last of them for GET /api/v1/audit. Holds what the kernel told of the subject
 * and what was asked for, never a header or a secret. Thread: any; called without serve's lock.
 */
#pragma once

#include "base/buf.h"

#define AUDIT_ACTS_MAX 1024     /* that are kept */
#define AUDIT_REFUSALS_MAX 256  /* kept apart: whoever is refused often pushes nothing else out */
#define AUDIT_LIMIT_DEFAULT 100 /* of an answer */

enum audit_action {
    AUDIT_NONE,
    AUDIT_CAPTURE,
    AUDIT_ATTACH,
    AUDIT_STOP,
    AUDIT_DELETE,
    AUDIT_TRIGGER,
    AUDIT_LOGIN,
    AUDIT_LOGOUT,
    AUDIT_REFUSAL,
    AUDIT_ACTIONS
};

struct request;
struct audit;

/* NULL: out of memory. */
struct audit *audit_new(void);
struct audit *audit_free(struct audit *a);
/* Notes @req, whose answer is complete, if it is one of these. */
void audit_note(struct audit *a, const struct request *req);
/* Appends {"audit":[...]}, the newest first. */
void audit_write(struct audit *a, size_t limit, struct buf *out);
/* Appends the counters for Prometheus. */
void audit_metrics(struct audit *a, struct buf *out);
