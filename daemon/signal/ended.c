/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out from outside how a JVM ended: by its pidfd and the counters of its cgroup. */
#include "signal/watched.h"

#include "discover/age.h"
#include "proc/exit_status.h"

#include <signal.h>
#include <sys/wait.h>

#define WAIT_NS (10 * NSEC_PER_SEC) /* the time that a parent has to reap a JVM */
#define ASK_NS NSEC_PER_SEC         /* time between two questions to the broker */
#define LIVED_S 60.0                /* a program that ends well before this age is no service */
#define BY_SIGNAL 128               /* a JVM ended by SIGTERM exits with 128 plus the number */
#define NS_PER_S 1e9

static bool is_crash(int number)
{
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGILL ||
           number == SIGFPE;
}

/* Returns the signal that asked a JVM to end, which then ran its shutdown hooks and exited with
 * @code; NULL: none. */
static const char *asked_by(int code)
{
    switch (code - BY_SIGNAL) {
    case SIGTERM:
        return "SIGTERM";
    case SIGINT:
        return "SIGINT";
    case SIGHUP:
        return "SIGHUP";
    default:
        return NULL;
    }
}

/* Appends the last known memory of the JVM to the sentence. */
static void add_memory(const struct end_facts *e, struct rule_finding *f)
{
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT];

    if (e->rss > 0 && e->limit > 0)
        rule_add(f, "; at last it used %s of its container's limit of %s", rule_bytes(e->rss, a),
                 rule_bytes(e->limit, b));
    else if (e->rss > 0)
        rule_add(f, "; at last it used %s of memory", rule_bytes(e->rss, a));
}

/* Marks the end of the sentence's first part, which is the same for all JVMs that end in this
 * way. */
static void end_cause(struct rule_finding *f)
{
    f->cause = strlen(f->sentence);
}

static void say_killed(const struct end_facts *e, struct rule_finding *f)
{
    bool oom = e->oom_kills > 0, is_known = !isnan(e->oom_kills);

    f->severity = oom ? 3 : e->age_s >= LIVED_S ? 2 : 1;
    rule_say(f, oom        ? "the kernel ended it (SIGKILL): its container was out of memory"
                : is_known ? "it was ended by SIGKILL"
                           : "it was ended by SIGKILL, perhaps for want of memory");
    end_cause(f);
    if (!oom && is_known)
        rule_add(f, "; its container counts no process ended for want of memory");
    add_memory(e, f);
}

/* Writes how the JVM ended by its wait status, except for SIGKILL. */
static void say_status(int status, struct rule_finding *f)
{
    int number = WTERMSIG(status), code = WEXITSTATUS(status);

    if (WIFSIGNALED(status)) {
        f->severity = is_crash(number) ? 3 : 1;
        rule_say(f, "it %s by signal %d (%s)", f->severity == 3 ? "crashed and ended" : "was ended",
                 number, strsignal(number));
    } else if (asked_by(code)) {
        rule_say(f, "it was ended by %s (status %d)", asked_by(code), code);
    } else if (code == 0) {
        rule_say(f, "it ended with status 0");
    } else {
        f->severity = 2;
        rule_say(f, "it ended with status %d, which is an error,", code);
    }
    end_cause(f);
}

bool ended_find(const struct end_facts *e, struct rule_finding *ret)
{
    struct rule_finding f = { .strength = 1, .severity = 1, .value = e->status };
    char lived[RULE_BYTES_TEXT];

    rule_duration(e->age_s, lived);
    if (!e->known && e->oom_kills > 0) {
        f.severity = 3;
        rule_say(&f,
                 "it ended when the kernel killed a process of its container for want of memory");
        end_cause(&f);
        add_memory(e, &f);
    } else if (!e->known) {
        rule_say(&f, "it ended");
        end_cause(&f);
        rule_add(&f, " after %s; how is not known: the kernel reports it since Linux 6.15", lived);
    } else if (WIFSIGNALED(e->status) && WTERMSIG(e->status) == SIGKILL) {
        say_killed(e, &f);
    } else {
        say_status(e->status, &f);
        rule_add(&f, " after %s", lived);
    }
    *ret = f;
    return f.severity > 1 || e->age_s >= LIVED_S;
}

/* Returns how many processes of the JVM's cgroup the kernel has killed for want of memory since the
 * last reading. */
static double last_kills(const struct watched *w)
{
    struct number_reading now;

    reading_clear(&now);
    read_cgroup(&w->files, &now);
    return now.v[NUMBER_OOM_KILLS] - numbers_last(&w->numbers, NUMBER_OOM_KILLS);
}

/* Gets the wait(2) status of the JVM, also if its parent does not reap it. */
static bool status_of(struct watched *w, struct broker *broker, uint64_t now_ns, int *ret)
{
    if (exit_status_of(w->pidfd, ret))
        return true;
    if (!broker || now_ns < w->ask_ns || (w->pidfd >= 0 && !exit_has_come(w->pidfd)))
        return false;
    w->ask_ns = now_ns + ASK_NS;
    return broker_zombie_status(broker, &w->p->id, ret) == 0;
}

bool ended_look(struct watched *w, struct broker *broker, uint64_t now_ns)
{
    struct end_facts e = { .age_s = (double)process_age_ns(w->p) / NS_PER_S,
                           .rss = numbers_last(&w->numbers, NUMBER_RSS_BYTES),
                           .limit = numbers_last(&w->numbers, NUMBER_MEMORY_LIMIT_BYTES) };
    struct signal_state *state = &w->states[RULE_ENDED];

    if (!w->ended_ns) {
        w->ended_ns = now_ns;
        w->last_kills = last_kills(w);
    }
    e.oom_kills = w->last_kills;
    e.known = status_of(w, broker, now_ns, &e.status);
    if (!e.known && now_ns - w->ended_ns < WAIT_NS)
        return false;
    for (size_t i = 0; i < RULES; i++)
        signal_past_end(w->past[i], w->ended_ns);
    memset(w->states, 0, sizeof(w->states)); /* its other signals are over */
    state->on = ended_find(&e, &state->finding);
    state->strong_ns = w->ended_ns;
    signal_past_note(&w->past[RULE_ENDED], state, w->ended_ns);
    w->ended = true;
    return true;
}

bool ended_by_sigterm(const struct watched *w)
{
    const struct signal_past *past = w->past[RULE_ENDED];
    int status = past ? (int)past->worst.value : 0;

    return past && (WIFSIGNALED(status) ? WTERMSIG(status) == SIGTERM
                                        : WEXITSTATUS(status) == BY_SIGNAL + SIGTERM);
}

void ended_hide(struct watched *w)
{
    w->states[RULE_ENDED].finding.severity = w->past[RULE_ENDED]->worst.severity = 0;
}

bool ended_is_hidden(const struct watched *w)
{
    return w->ended && w->past[RULE_ENDED] && !w->past[RULE_ENDED]->worst.severity;
}

bool ended_is_less(const struct watched *a, const struct watched *b)
{
    bool hidden = ended_is_hidden(a);

    return hidden != ended_is_hidden(b) ? hidden : a->ended_ns < b->ended_ns;
}

void ended_turn_off(struct watched *w, uint64_t now_ns)
{
    if (!w->states[RULE_ENDED].on || now_ns - w->ended_ns <= SIGNAL_ENDED_NS)
        return;
    w->states[RULE_ENDED].on = false;
    signal_past_end(w->past[RULE_ENDED], now_ns);
    numbers_deinit(&w->numbers);
    cgroup_files_close(&w->files);
}
