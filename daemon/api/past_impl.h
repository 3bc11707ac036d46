/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files about the past share. */
#pragma once

#include "api/api_impl.h"
#include "profile/changes.h"
#include "request/matcher.h"
#include "store/history.h"

struct past_images;

/* Selects samples of the past. */
struct past_filter {
    const struct target_selector *t;
    struct match *jvm;                /* NULL: any; each JVM has a service, and nothing else has */
    struct matcher_set *seen;         /* matchers of the viewer; NULL: none */
    struct matcher_set *asked;        /* matchers of the target; NULL: none */
    const struct past_images *images; /* the last known facts; NULL: a profile's rows decide */
    bool owned;                       /* only the viewer's own captures are read */
    int32_t pid;                      /* a single pid; only its last image is selected; 0: none */
    uint64_t start_ticks;             /* of that image */
    uint64_t program;                 /* hash of the name and service of that image */
    uint32_t exec_no;                 /* number of the exec, as counted by the flamed that saw it */
    bool runs_java;                   /* that image has a service */
    bool stored;                      /* images are of stored captures */
    uint64_t coarsest_ns;             /* as in struct history_query */
    bool summed;                      /* as in struct history_query */
    const char *events;               /* events to read of the history; NULL: the default */
};

/* The recorder's part of a range, and where it takes over from the history. */
struct recorded_past {
    uint64_t asked_ns;       /* CLOCK_REALTIME: begin of the requested range */
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
    /* CLOCK_REALTIME: from when on the recorder is used, not the history. Its oldest sample if it
     * has the whole range or the history ends earlier; else a whole minute. UINT64_MAX: it is
     * empty. */
    uint64_t since_ns;
    /* CLOCK_REALTIME: minutes that end later are not in the history yet; 0: the history has nothing
     * that the recorder lacks. */
    uint64_t kept_ns;
    uint64_t minute_ns;     /* earlier minutes are read from the history; 0: none */
    bool whole;             /* also take late samples, of times before from_ns */
    struct profile **parts; /* owned references; NULL: none */
    size_t count;
    bool named;             /* the last known facts decide on processes, so take later slices,
                             * too */
    struct profile **later; /* as `parts`, from to_ns on */
    size_t later_count;
    uint64_t oldest_ns, period_ns; /* of the recorder; 0: the recorder is empty or off */
    uint64_t keep_ns;              /* recorder_seconds */
    bool full;                     /* its memory is too small for that */
    bool looks;                    /* it samples waiting threads */
    bool allocs;                   /* it samples allocations */
    bool has_values;               /* the answer has samples of waits or allocations */
    const struct viewer *viewer;
    int32_t pid; /* the single pid if alloc is requested; else 0 */
    /* Why allocations of pid are not recorded now; "": they are recorded, or the range ended
     * earlier. */
    char unrecorded[ERROR_MSG_MAX];
};

/* Makes the filter of @t, which is borrowed. 0 or -errno with @err; call past_filter_deinit() in
 * every case. */
int past_filter_init(const struct target_selector *t, struct past_filter *ret, struct error *err);
/* Returns @r, or -EINVAL with @err if @f may have selected too little, because its jvm= takes too
 * many steps on many names. */
int past_filter_refuse(const struct past_filter *f, int r, struct error *err);
void past_filter_deinit(struct past_filter *f);
/* Returns how far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. */
uint64_t past_realtime_offset_ns(void);
/* Converts @realtime_ns to CLOCK_MONOTONIC. UINT64_MAX stays. */
uint64_t past_to_monotonic(uint64_t realtime_ns);
/* Returns an empty table of the last known facts of process images. NULL: no memory. Freed by
 * past_images_free(), which accepts NULL. */
struct past_images *past_images_new(void);
struct past_images *past_images_free(struct past_images *m);
/* Adds the processes of @parts, which are in order of time. Their strings are borrowed from then
 * on. 0 or -ENOMEM. */
int past_images_note(struct past_images *m, struct profile *const *parts, size_t count);
/* Returns whether @f selects by facts that are known only some time after the start of a
 * process. */
bool past_needs_images(const struct past_filter *f);
/* A program that a process ran. Texts are borrowed. */
struct past_program {
    int32_t host_pid;
    uint32_t exec_no;
    uint64_t start_ticks;
    const char *name, *service;
};
/* Pins an image of the single pid: @f then selects no other program of that process. */
void past_pin(struct past_filter *f, const struct past_program *image);
/* Returns whether @image may be the pinned image. An equal name and service suffice, because
 * another flamed may have counted execs differently. True if none is pinned. */
bool past_is_pinned(const struct past_filter *f, const struct past_program *image);
/* Returns whether the filter @cookie selects @process of @p. */
bool past_wants(void *cookie, const struct profile *p, const struct profile_process *process);
/* With a single pid: pins the image of it that was sampled last in [@from_ns, @to_ns) of @p, unless
 * a later image is known. */
void past_pin_image(struct past_filter *f, const struct profile *p, uint64_t from_ns,
                    uint64_t to_ns);
/* Fills in the facts of a profile of [@from_ns, @to_ns) (CLOCK_MONOTONIC), except its events. */
void past_meta(const struct past_filter *f, uint64_t from_ns, uint64_t to_ns, struct profile *ret);
/* Joins profiles of one time, each of another event of the request (profile_join()). *ret stays
 * NULL if there are none. 0 or -ENOMEM. */
int past_join(const struct past_filter *f, struct profile *const *parts, size_t count,
              struct profile **ret);
/* Adds warnings to *@p: that it has less than was requested (@reach), that it lacks some of
 * @events, that it has several processes. *@p has no other owner yet. */
void past_warn(const struct target_selector *t, const char *reach, const char *events,
               struct profile *p);
/* Returns whether the recorder may have one of @events, names with commas between them; NULL: the
 * default. */
bool past_is_recorded(const char *events);
/* Gets the recorder's samples of @events in the time of @a, and fills in the rest of @a. *ret stays
 * NULL if there are none. The engine only passes its slices to this thread, which adds them up. No
 * sample counts twice if the history is read only up to a->since_ns and a->kept_ns. 0 or -errno
 * with @err. */
int past_recorded(struct api *api, struct past_filter *f, const char *events,
                  struct recorded_past *a, struct profile **ret, struct error *err);
/* Returns the owner (proc_owner()) to which the room of @image is charged. All images without a
 * known owner, as in older files, are charged to one owner. */
uint64_t past_payer(const struct history_image *image);
#define PAST_NAME_BYTES 256
/* The place of a JVM of the history, with its own texts. */
struct past_place {
    uint64_t payer;
    uint32_t owner;
    char container[PAST_NAME_BYTES], pod[PAST_NAME_BYTES], pod_namespace[PAST_NAME_BYTES];
    char attributes[PAST_NAME_BYTES]; /* the line with its container's name */
};
/* Copies the place of @image. */
void past_place_keep(const struct history_image *image, struct past_place *ret);
/* Returns the place @p as a struct history_place, with texts of @p. */
struct history_place past_place(const struct past_place *p);
/* Returns the index of the place of @image in @list, which has *@count of them. Adds it if there is
 * room; @max: there is none. */
size_t past_place_find(struct past_place *list, size_t *count, size_t max,
                       const struct history_image *image);
/* Returns the place of @p, which refers to its container and to @name. */
struct history_place past_place_of(const struct process *p, char name[PAST_NAME_BYTES]);
/* Returns whether @f may select samples of @image. */
bool past_wants_image(const struct past_filter *f, const struct history_image *image);
/* Does the same for sums. A row that sums up all other processes of a user cannot be filtered. */
bool past_wants_sums(void *cookie, const struct history_image *image);
/* Pins the image at @filter if it is later than those before it. @cookie: a struct
 * past_last_image. */
struct past_last_image {
    struct past_filter *filter;
    uint64_t last_ns; /* CLOCK_REALTIME */
};
void past_see_last(void *cookie, const struct history_image *image);
/* Widens the struct time_range at @cookie by the time of @image (CLOCK_REALTIME). */
void past_see_range(void *cookie, const struct history_image *image);
/* Adds the container of @image to the list at @cookie, a struct buf. */
void past_see_container(void *cookie, const struct history_image *image);
/* Implements the callback of struct history_query; @cookie is the filter. */
bool past_wants_of(void *cookie, const struct history_image *image);
/* Returns the time from the first minute to the last in which the history has a JVM of @t
 * (CLOCK_REALTIME); empty: none. Blocks for the disk. */
struct time_range past_known_time(struct api *api, const struct target_selector *t);
/* Adds the containers of t->container to @ids in which the viewer's JVMs of the history ran. An
 * unreadable history has none: answers from it have the reason. Blocks for the disk. */
void past_known_containers(struct api *api, const struct target_selector *t, struct buf *ids);
/* Gets the history's samples of @f->events in [@from_ns, @to_ns) (CLOCK_REALTIME), with warnings
 * on their sources. With a single pid, pins the image. *ret stays NULL if there are no samples. 0
 * or -errno with @err. Blocks for the disk. */
int past_history(struct api *api, struct past_filter *f, uint64_t from_ns, uint64_t to_ns,
                 struct history_reach *ret_reach, struct profile **ret, struct error *err);
/* Passes the sums by category to @sums->fn. If the filter selects only some processes, leaves out
 * those without Java code: the history has only one sum for all of them. */
int past_sums(struct api *api, struct past_filter *f, const struct time_range *range,
              struct past_sums *sums, struct error *err);
/* Adds warnings to @p about gaps in the @asked_ns of @reach, and about lost or damaged data. */
void past_history_gaps(const struct history_reach *reach, uint64_t asked_ns, struct profile *p);
/* timeline_gaps.c: puts the times of @range in which flamed recorded nothing into @answer. The
 * recorder runs from @recorded_ns on (CLOCK_REALTIME; 0: it is off or empty, and there are none). 0
 * or -errno with @err. Blocks for the disk. */
int timeline_gaps(struct api *api, const struct time_range *range, uint64_t recorded_ns,
                  json_t *answer, struct error *err);
/* timeline_stops.c: passes the minutes of @range in which a JVM of @t paused or was throttled to
 * @fn, the latest first. Reads at most PAST_STOPS_MAX minutes, of all JVMs. Blocks for the disk.
 * Returns 0; 1 if there are earlier minutes; or -errno. */
#define PAST_STOPS_MAX 200000
int past_stops(struct api *api, const struct target_selector *t, const struct time_range *range,
               history_stop_fn fn, void *cookie, struct error *err);
/* changes_rests.c: skips the allocations of @set while a process of @p had no probes for them. Asks
 * the engine. 0 or -errno. */
int changes_rests(struct api *api, const struct profile *p, struct change_set *set,
                  struct error *err);
/* changes_pauses.c: adds the pauses of @t in @range to @set: from the history before @recorded_ns,
 * then from @p, a profile of that range. *ret_any: there are pauses, and all of them are known.
 * Blocks for the disk. 0 or -errno. */
int changes_pauses(struct api *api, const struct target_selector *t, const struct time_range *range,
                   const struct profile *p, uint64_t recorded_ns, struct change_set *set,
                   bool *ret_any, struct error *err);
