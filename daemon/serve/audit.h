/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit: a line of JSON in the log for each capture, attach, removal, trigger, login and
 * refusal. Keeps the last lines for GET /api/v1/audit. A line has the kernel's facts on the subject
 * and the names in the request, never a header or a secret. Thread: any; called without serve's
 * lock.
 */
#pragma once

#include "base/buf.h"

#define AUDIT_ACTS_MAX 1024     /* acts that are kept */
#define AUDIT_REFUSALS_MAX 256  /* refusals, kept apart: many of them evict no act */
#define AUDIT_REFUSALS_SHARE 32 /* refusals of one caller */
#define AUDIT_NOBODIES_MAX 64   /* refusals of callers that the kernel does not identify */
#define AUDIT_NOBODIES_SHARE 16 /* refusals of one address */
#define AUDIT_CALLERS_MAX 128   /* callers with log budgets; the least recent one is replaced */
/* Log budget for acts of one caller without the role to manage: a burst, and one line per
 * AUDIT_ACT_NS after it. The list has all acts. */
#define AUDIT_ACTS_AT_ONCE UINT64_C(60)
#define AUDIT_ACT_NS (NSEC_PER_SEC / 2)
/* Log budgets for refusals: a burst, and one line per interval after it. */
#define AUDIT_LINES_AT_ONCE UINT64_C(10) /* lines of one caller */
#define AUDIT_LINE_NS (6 * NSEC_PER_SEC)
#define AUDIT_KNOWN_AT_ONCE UINT64_C(200) /* lines of all users of the machine */
#define AUDIT_KNOWN_NS (NSEC_PER_SEC / 5)
#define AUDIT_NOBODIES_AT_ONCE UINT64_C(30) /* lines of all addresses */
#define AUDIT_NOBODIES_NS (2 * NSEC_PER_SEC)
#define AUDIT_LIMIT_DEFAULT 100                    /* lines of an answer */
#define AUDIT_JOURNAL_MAX_BYTES ((size_t)32 << 10) /* a longer entry goes to the log */

#define STATUS_LEFT 499    /* audit only: the client left before the answer */
#define STATUS_REVOKED 403 /* audit only: the right was revoked while the request ran */

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
struct subject;
struct audit;

/* Creates the audit. Takes both descriptors, even if it fails; 0 or -1: no descriptor. @file_fd: a
 * file to append lines to; @journal_fd: of audit_journal_open(). NULL: out of memory. */
struct audit *audit_new(int file_fd, int journal_fd);
/* Replaces the file by @fd, which it takes. */
void audit_set_file(struct audit *a, int fd);
#define AUDIT_JOURNAL "/run/systemd/journal/socket"
/* Opens a socket to the journal, before the sandbox; -1: there is no journal. @path: NULL: none. */
int audit_journal_open(const char *path);
struct audit *audit_free(struct audit *a);
/* Returns the action that @req performs if it succeeds; AUDIT_NONE: not audited. */
enum audit_action audit_action_of(const struct request *req);
/* Stores facts of the single process that @req targets in req->target_facts, while it exists. May
 * block for some ms. */
void audit_look(struct request *req);
/* Records @req, which has its whole answer, if its action is audited. */
void audit_note(struct audit *a, const struct request *req);
/* Records that the stream @req was ended early; @sentence is the reason. */
void audit_note_revoked(struct audit *a, const struct request *req, const char *sentence);
/* Records that flamed stopped @capture, begun by @of; @sentence is the reason. */
void audit_note_stopped(struct audit *a, const struct subject *of, const char *capture,
                        const char *sentence);
/* Appends {"audit":[...]}, newest first. */
void audit_write(struct audit *a, size_t limit, struct buf *out);
/* Appends the counters for Prometheus. */
void audit_metrics(struct audit *a, struct buf *out);
