/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the source that names the Java code of a capture. Memory is always a source. An agent, or
 * the JVM's own map, is preferred if a request names it and the preflight finds no obstacle. The
 * end of the capture reports the source with the reason.
 */
#include "attach/attachment.h"
#include "attach/preflight_facts.h"
#include "base/text.h"
#include "capture/capture_impl.h"
#include "proc/stall_readers.h"

static const char *asked_name(enum symbols_source symbols)
{
    return symbols == SYMBOLS_AGENT ? "agent" : "perfmap";
}

static bool is_asked(const struct capture *c)
{
    return c->names.symbols == SYMBOLS_AGENT || c->names.symbols == SYMBOLS_PERFMAP;
}

/* Falls back from a source that cannot be used to memory, which names all code if it can be
 * read. */
static void fall_back(struct capture *c, uint32_t mode, const char *reason, const char *remedy)
{
    const char *source = mode == ATTACH_PERFMAP ? "the JVM's own map" : "an agent";

    if (c->names.nameless)
        record_warn(c->record,
                    "Java code has no names: the JVM's memory cannot be read, and %s could not be "
                    "used: %s%s%s",
                    source, reason, remedy[0] ? "; " : "", remedy);
    else
        record_warn(c->record, "names come from the JVM's memory, not from %s: %s%s%s", source,
                    reason, remedy[0] ? "; " : "", remedy);
    snprintf(c->meta.symbols, sizeof(c->meta.symbols), "%s: %s could not be used: %.180s",
             c->names.nameless ? "none" : "memory", source, reason);
    text_clean_into(span_of(c->meta.symbols), c->meta.symbols, sizeof(c->meta.symbols));
}

/* Implements record_later_fn. Numbers from LATER_PLACES_MAX on stand for inlined frames. */
static size_t resolve_deferred(void *cookie, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX])
{
    struct capture *c = cookie;

    if (n >= LATER_PLACES_MAX && c->names.inlined)
        return inlined_frames(c->names.inlined, n - LATER_PLACES_MAX, ret);
    if (c->names.later)
        return deferred_resolve(c->names.later, n, ret);
    ret[0] = 0;
    return 1;
}

void capture_defer_names(struct capture *c)
{
    if (c->names.later || c->names.inlined)
        record_set_later(c->record, resolve_deferred, c);
}

static int attach(struct captures *captures, struct capture *c, const struct process *p,
                  uint32_t mode)
{
    c->names.attach_mode = mode;
    c->names.attach_id = p->id;
    if (deferred_new(captures->frames, readers_owner(&p->id), &c->names.later) < 0)
        return -ENOMEM;
    capture_defer_names(c);
    if (mode == ATTACH_PERFMAP)
        return 0; /* attach at the end, when all sampled code is compiled */
    c->names.attachment = attachment_take(captures->attaching, p, mode);
    return c->names.attachment ? 0 : -ENOMEM;
}

int capture_choose_names(struct captures *captures, struct capture *c, struct error *err)
{
    const struct preflight_step *obstacle;
    struct preflight f;
    struct process *p = NULL;
    size_t count;
    uint32_t mode = c->names.symbols == SYMBOLS_PERFMAP ? ATTACH_PERFMAP : ATTACH_LOAD;

    if (!is_asked(c))
        return 0;
    count = target_jvms(c->target, captures->discover, &p, 1);
    if (count > 1) {
        error_parameter(err, "symbols", -EINVAL,
                        "symbols=%s is for one JVM, and %zu are selected here",
                        asked_name(c->names.symbols), count);
        error_remedy(err, "choose one by pid=, or take symbols=memory, which names all of them");
        return BACKEND_CONFLICT;
    }
    if (!p) {
        record_warn(c->record, "symbols=%s has nothing to do: what is selected is no JVM",
                    asked_name(c->names.symbols));
        return 0;
    }
    discover_refresh(captures->discover, p);
    preflight_process(captures->attaching, target_viewer(c->target), p, &f);
    c->names.nameless = f.nameless;
    obstacle = preflight_obstacle(&f, mode);
    if (obstacle && !preflight_passes(p, &f)) {
        fall_back(c, mode, obstacle->reason, obstacle->remedy);
        return 0;
    } else if (mode == ATTACH_PERFMAP && !f.perfmap && !preflight_passes(p, &f)) {
        fall_back(c, mode, "this JDK cannot write its map to a file of a given name",
                  "JDK 22 and later can");
        return 0;
    }
    return attach(captures, c, p, mode);
}

void capture_ask_names(struct captures *captures, struct capture *c)
{
    const struct process *p;

    if (!c->names.later || c->names.attachment || captures->stopping)
        return;
    p = discover_find(captures->discover, c->names.attach_id.host_pid);
    c->names.exited = !p || p->exited || !proc_id_equal(&p->id, &c->names.attach_id);
    if (!c->names.exited)
        c->names.attachment = attachment_take(captures->attaching, p, c->names.attach_mode);
}

/* Returns whether the source may still answer. */
static bool is_open(const struct capture *c)
{
    enum attachment_state state =
        c->names.attachment ? attachment_state(c->names.attachment) : ATTACHMENT_FAILED;

    return state == ATTACHMENT_PLANNED || state == ATTACHMENT_ATTACHING;
}

bool capture_names_wait(struct captures *captures, struct capture *c, uint64_t now_ns)
{
    return now_ns < capture_answer_ns(c) && !captures->stopping &&
           ((c->names.later && is_open(c)) ||
            (c->names.inlined && inlined_waits(c->names.inlined)));
}

void capture_decide_names(struct capture *c)
{
    struct deferred_source s = { 0 };

    if (c->names.inlined)
        inlined_decide(c->names.inlined);
    if (!c->names.later)
        return;
    if (c->names.attachment && attachment_state(c->names.attachment) == ATTACHMENT_READY) {
        s.map = attachment_map(c->names.attachment);
        s.text = attachment_text(c->names.attachment);
    }
    deferred_decide(c->names.later, &s);
}

void capture_tell_names(struct capture *c)
{
    const struct error *problem =
        c->names.attachment ? attachment_problem(c->names.attachment) : NULL;

    if (!c->names.later)
        return;
    if (c->names.exited)
        fall_back(c, c->names.attach_mode, "the JVM has exited", "");
    else if (problem && problem->msg[0])
        fall_back(c, c->names.attach_mode, problem->msg, problem->remedy);
    else if (!problem || attachment_state(c->names.attachment) == ATTACHMENT_PLANNED)
        fall_back(c, c->names.attach_mode, "there was no time to ask the JVM", "ask again");
    else if (attachment_state(c->names.attachment) != ATTACHMENT_READY)
        fall_back(c, c->names.attach_mode, "the JVM had not answered in the time for names",
                  "it may be stopped or in a long collection; symbols=memory needs no attach");
    else if (attachment_dropped(c->names.attachment))
        record_warn(c->record,
                    "%ju records of the agent were lost: code may lack its name, or have that of "
                    "earlier code at its place",
                    (uintmax_t)attachment_dropped(c->names.attachment));
}

/* Warns of missing debug information. */
static void add_unread(const struct capture *c, struct profile *p)
{
    struct inlined_stats s = inlined_stats(c->names.inlined);

    if (s.unread || s.dropped)
        profile_warn(p,
                     "debug information of %u native places (%u were found) was not "
                     "read in time or within its limits. They have no inlined functions "
                     "and lines; ask again, or for longer",
                     s.unread + s.dropped, s.found);
    if (s.split)
        profile_warn(p,
                     "debug information of %u native places is in .dwo files, which flamed does "
                     "not read: they have no inlined functions and lines; build without "
                     "-gsplit-dwarf",
                     s.split);
    if (s.shared)
        profile_warn(p,
                     "inlined functions at %u native places have no name: it is in a debug file "
                     "that others share (dwz), which was not found; install it below "
                     "/usr/lib/debug/.dwz",
                     s.shared);
    if (s.beyond)
        profile_warn(p,
                     "debug information of %u native places is broken, or of a kind that flamed "
                     "does not read: they have no inlined functions and lines",
                     s.beyond);
}

void capture_add_names(const struct capture *c, struct profile *p)
{
    struct deferred_stats s;
    size_t n;

    if (c->names.inlined)
        add_unread(c, p);

    if (!c->names.later || !c->names.attachment ||
        attachment_state(c->names.attachment) != ATTACHMENT_READY)
        return;
    s = deferred_stats(c->names.later);
    n = (size_t)snprintf(p->symbols, sizeof(p->symbols),
                         "%s: asked for%s; interpreted methods and what it does not know by memory",
                         asked_name(c->names.symbols), attachment_way(c->names.attachment));
    n = MIN(n, sizeof(p->symbols) - 1);
    snprintf(p->symbols + n, sizeof(p->symbols) - n,
             "; %u of %u places agree with memory, %u only it could name, %u in loops by memory",
             s.same, s.both, s.added, s.loops);
    if (s.given_up)
        profile_warn(p,
                     "%u places were not looked up among the code that the agent reports, because "
                     "there is too much of it: they have the names that memory gives",
                     s.given_up);
}

void capture_drop_names(struct captures *captures, struct capture *c)
{
    c->names.attachment = attachment_release(captures->attaching, c->names.attachment);
}

void capture_note_symbols(struct capture *c, const struct process *p)
{
    char *to = c->meta.symbols;
    size_t size = sizeof(c->meta.symbols);

    if (c->names.symbols == SYMBOLS_NONE)
        snprintf(to, size, "none: asked for by symbols=none");
    else if (to[0])
        return;
    else if (p && p->jvm == JVM_UNSUPPORTED)
        snprintf(to, size, "none: %.200s", p->reason);
    else if (p && p->jvm == JVM_READY)
        snprintf(to, size, "memory: names are read from the JVM's own memory, nothing is injected");
    text_clean_into(span_of(to), to, size); /* the reason may be cut inside a character */
}
