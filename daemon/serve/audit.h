/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did what: a line of JSON in the log for each capture, attach, removal, trigger, login and
 * refusal. Keeps the last of them for GET /api/v1/audit. A line holds what the kernel said of the
 * subject and what the request named, never a header or a secret. Thread: any; called without
 * serve's lock.
 */
#pragma once

#include "base/buf.h"

#define AUDIT_ACTS_MAX 1024     /* that are kept */
#define AUDIT_REFUSALS_MAX 256  /* kept apart: many refusals push nothing else out */
#define AUDIT_REFUSALS_SHARE 32 /* of them, of one caller */
#define AUDIT_NOBODIES_MAX 64   /* and of callers that the kernel does not report, */
#define AUDIT_NOBODIES_SHARE 16 /* of one address */
#define AUDIT_CALLERS_MAX                                                                          \
    128 /* whose lines are counted; the one whose last line is the longest ago goes */
/* Acts of one caller who may not manage that the log takes: so many at once, and one every so often
 * in the long run. All are in the list. */
#define AUDIT_ACTS_AT_ONCE UINT64_C(60)
#define AUDIT_ACT_NS (NSEC_PER_SEC / 2)
/* Refusals that the log takes: so many at once and one every so often in the long run, */
#define AUDIT_LINES_AT_ONCE UINT64_C(10) /* of one caller, */
#define AUDIT_LINE_NS (6 * NSEC_PER_SEC)
#define AUDIT_KNOWN_AT_ONCE UINT64_C(200) /* of all users of the machine, */
#define AUDIT_KNOWN_NS (NSEC_PER_SEC / 5)
#define AUDIT_NOBODIES_AT_ONCE UINT64_C(30) /* of all addresses */
#define AUDIT_NOBODIES_NS (2 * NSEC_PER_SEC)
#define AUDIT_LIMIT_DEFAULT 100 /* of an answer */
#define AUDIT_JOURNAL_MAX_BYTES                                                                    \
    ((size_t)32 << 10) /* of an entry; a longer one is a line of the log */

#define STATUS_LEFT 499    /* in the audit alone: the client left before the answer, */
#define STATUS_REVOKED 403 /* the right to it was taken away while it was under way */

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

/* @file_fd: a file to append each line to; @journal_fd: of audit_journal_open(). Both are taken,
 * also where it fails; 0 or -1: none. NULL: out of memory. */
struct audit *audit_new(int file_fd, int journal_fd);
/* Takes @fd in place of the file before. */
void audit_set_file(struct audit *a, int fd);
#define AUDIT_JOURNAL "/run/systemd/journal/socket"
/* Opens a socket that takes fields for the journal, to be opened before the sandbox; -1: there is
 * none.
 * @path: NULL: none. */
int audit_journal_open(const char *path);
struct audit *audit_free(struct audit *a);
/* Returns what @req does that is to be noted, if all goes well. */
enum audit_action audit_action_of(const struct request *req);
/* Notes what the process is that @req asks for, while it is there. May block for some ms. */
void audit_look(struct request *req);
/* Notes @req, whose answer is complete, if it is one of these. */
void audit_note(struct audit *a, const struct request *req);
/* Notes that @req, a stream, ended before its time, as @sentence says. */
void audit_note_revoked(struct audit *a, const struct request *req, const char *sentence);
/* Notes that flamed stopped the capture that @of had begun, as @sentence says. */
void audit_note_stopped(struct audit *a, const struct subject *of, const char *capture,
                        const char *sentence);
/* Appends {"audit":[...]}, the newest first. */
void audit_write(struct audit *a, size_t limit, struct buf *out);
/* Appends the counters for Prometheus. */
void audit_metrics(struct audit *a, struct buf *out);
