/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logins of browsers. `flamed --login` creates a ticket, valid once and for minutes. A browser that
 * shows it gets a session, with the secret in a cookie. Ticket and secret are 256 random bits; only
 * their SHA-256 is stored. A session is bound to the user of the browser that logged in. That is
 * needed because browsers send cookies of localhost to every port, and so to other users' programs.
 * Thread: any.
 */
#pragma once

#include "access/access_rules.h"

#define SESSION_TEXT (64 + 1) /* a ticket or secret in hex, and NUL */
/* Hex digits of a new name below "localhost", at which a browser logs in over plain HTTP. While
 * flamed did not run, another user's program may have listened at its port. What that left in the
 * browser, such as cached pages and service workers, does not apply to a new name. */
#define SESSION_NAME_DIGITS 32
#define SESSION_NS (12 * 3600 * NSEC_PER_SEC)
#define SESSION_TICKET_NS (120 * NSEC_PER_SEC)
#define SESSIONS_MAX 64        /* sessions of all users together */
#define SESSIONS_OF_USER_MAX 8 /* beyond it the oldest ends; also limits tickets */
#define SESSION_TICKETS_MAX 32
#define SESSION_TICKETS_OF_USER_MAX 4

struct sessions;

/* Returns an empty table; NULL: out of memory. */
struct sessions *sessions_new(void);
struct sessions *sessions_free(struct sessions *s);

/* Makes a ticket for @of, a user's subject before any rule. Returns 0 and @ret, SESSION_FULL, or
 * -EIO. */
int sessions_ticket(struct sessions *s, const struct subject *of, uint64_t now_ns,
                    char ret[SESSION_TEXT]);
#define SESSION_FULL 1

/* Exchanges @ticket for a session and uses the ticket up. @browser: the client that shows it.
 * Returns 0 with @ret (the secret) and *ret_subject, the subject given to sessions_ticket().
 * Returns SESSION_NONE for an invalid ticket, SESSION_FULL, or -EIO. */
int sessions_login(struct sessions *s, struct span ticket, const struct subject *browser,
                   const struct access_rules *rules, uint64_t now_ns, char ret[SESSION_TEXT],
                   struct subject *ret_subject);
#define SESSION_NONE 2

/* Finds the session of @secret. Returns false if the session is unknown, has ended, or is another
 * browser's. */
bool sessions_find(struct sessions *s, struct span secret, const struct subject *browser,
                   uint64_t now_ns, struct subject *ret, uint64_t *ret_left_ns);
/* Ends the session of @secret. */
void sessions_end(struct sessions *s, struct span secret);
/* Ends each session that has fewer rights under @rules than when it began. */
void sessions_review(struct sessions *s, const struct access_rules *rules);
/* Takes the next cookie off *rest, the remaining header. Returns false if none is left. The results
 * point into the header. */
bool session_cookie(struct span *rest, struct span *ret_name, struct span *ret_value);
