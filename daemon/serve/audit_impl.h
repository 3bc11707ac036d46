/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the audit: audit.c keeps and writes lines, audit_line.c formats them. */
#pragma once

#include "serve/serve_impl.h"

/* Result of a request, or of a capture that outlives its request. */
struct audit_outcome {
    enum audit_action action;
    unsigned status;
    const struct subject *subject;
    const char *problem, *capture; /* NULL: none */
};

/* Returns the name of an action, such as "capture". Literal. */
const char *audit_action_name(enum audit_action action);
/* Returns the facts of the process @f for a line, owned by the caller. */
json_t *audit_facts_json(const struct jvm_facts *f);
/* Returns the line, owned by the caller; NULL: out of memory. @req: NULL if flamed itself stopped a
 * capture. */
char *audit_line(const struct request *req, const struct audit_outcome *o);

/* ---- audit_sink.c ---- */

struct audit_sink {
    pthread_mutex_t lock;
    int file_fd;        /* file to append to; -1: none; lock guards it and the next two members */
    char *torn;         /* owned: unwritten end of the last line; NULL: none */
    uint64_t unwritten; /* lines missing from the file */
    int journal_fd;     /* -1: none */
};

/* Initializes @s; takes both descriptors. */
void audit_sink_init(struct audit_sink *s, int file_fd, int journal_fd);
void audit_sink_deinit(struct audit_sink *s);
void audit_sink_set_file(struct audit_sink *s, int fd); /* takes @fd */
/* Appends @line to the file, if any. */
void audit_sink_append(struct audit_sink *s, const char *line);
/* Sends @line to the journal. False: not sent. */
bool audit_sink_journal(const struct audit_sink *s, const char *line);
uint64_t audit_sink_unwritten(struct audit_sink *s);
