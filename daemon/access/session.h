/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Browsers that have logged in. `flamed --login` gets a ticket, which is good for one use within
 * minutes; a browser that shows it gets a session, whose secret is its cookie. Both are 256 random
 * bits, and only their SHA-256 is held. A session counts only for the user whose browser it was
 * made for. Browsers send the cookies of localhost to each port there, so also to a program of
 * another user. Thread: any.
 */
#pragma once

#include "access/access_rules.h"

#define SESSION_TEXT (64 + 1) /* a ticket or a secret, with its NUL */
#define SESSION_NS (12 * 3600 * NSEC_PER_SEC)
#define SESSION_TICKET_NS (120 * NSEC_PER_SEC)
#define SESSIONS_MAX 64        /* of all users */
#define SESSIONS_OF_USER_MAX 8 /* beyond it the oldest one ends; so it is with tickets */
#define SESSION_TICKETS_MAX 32
#define SESSION_TICKETS_OF_USER_MAX 4

struct sessions;

/* NULL: out of memory. */
struct sessions *sessions_new(void);
struct sessions *sessions_free(struct sessions *s);

/* Makes a ticket for @of, a user's subject before any rule. 0 and @ret; SESSION_FULL; -EIO. */
int sessions_ticket(struct sessions *s, const struct subject *of, uint64_t now_ns,
                    char ret[SESSION_TEXT]);
#define SESSION_FULL 1

/* Makes a session for who shows @ticket, which is used up then. @browser: who is at the other end.
 * 0, @ret (the secret) and *ret_subject, as it was given to sessions_ticket(); SESSION_NONE: it is
 * no ticket, or one no longer; SESSION_FULL; -EIO. */
int sessions_login(struct sessions *s, struct span ticket, const struct subject *browser,
                   const struct access_rules *rules, uint64_t now_ns, char ret[SESSION_TEXT],
                   struct subject *ret_subject);
#define SESSION_NONE 2

/* Whose session it is. False: it is none, none any longer, or another browser's. */
bool sessions_find(struct sessions *s, struct span secret, const struct subject *browser,
                   uint64_t now_ns, struct subject *ret, uint64_t *ret_left_ns);
/* Ends it. */
void sessions_end(struct sessions *s, struct span secret);
/* Ends each one that may less by @rules than when it began. */
void sessions_review(struct sessions *s, const struct access_rules *rules);
/* Takes the next cookie out of what is left of the header. False: there is none. Both point into
 * it. */
bool session_cookie(struct span *rest, struct span *ret_name, struct span *ret_value);
