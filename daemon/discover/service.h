/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which service a JVM is. The name comes from its tracer, its options or its environment; else from
 * the pod's workload, the container, the unit or the main class. A process can lie about its own
 * name, so no access rule may depend on it. Pure; thread: any.
 */
#pragma once

#include "base/span.h"
#include "discover/jar.h"

struct process;

#define SERVICE_NAME_BYTES 128

enum service_source {
    SERVICE_UNKNOWN,
    SERVICE_CONTEXT,    /* published by its tracer (published.c) */
    SERVICE_PROPERTY,   /* -Dotel.service.name, -Dotel.resource.attributes, -Ddd.service */
    SERVICE_ENVIRON,    /* OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, DD_SERVICE */
    SERVICE_KUBERNETES, /* the workload, by the pod's name */
    SERVICE_CONTAINER,  /* the container's name */
    SERVICE_UNIT,       /* the unit of systemd */
    SERVICE_MAIN,       /* main class or jar */
};

/* Where a version comes from. */
enum version_source {
    VERSION_OF_PROCESS, /* its tracer, options or environment; or there is no version */
    VERSION_OF_IMAGE,   /* the tag or digest of its container's image */
    VERSION_OF_JAR,     /* the manifest of its jar */
};

/* The jar of a program. */
struct program_jar {
    char name[SERVICE_NAME_BYTES]; /* without folders */
    struct jar_facts facts;        /* of service_of_words(): all zero */
};

/* Clean text; "" where it is not known. */
struct service {
    char name[SERVICE_NAME_BYTES], version[64], environment[64], instance[128];
    char space[64];             /* OpenTelemetry's service.namespace */
    char repository[128];       /* address of its source code, without user and password */
    char revision[64];          /* commit in that repository */
    enum service_source source; /* where the name comes from */
    enum version_source version_source;
    struct program_jar jar;
};

/* Reads into @ret the service by @published (of published_read()), @options (of the JVM) and @words
 * (of broker_service_words()); NULs separate them. Published values count most, since a tracer has
 * read all others. An option counts more than the environment. The key for a name counts more than
 * an attribute. Tracers use the same order. */
void service_of_words(struct span published, struct span options, struct span words,
                      struct service *ret);
/* Gets the service of @p: the result of service_of_words(), completed by what the node knows. */
void service_of_process(const struct process *p, struct service *ret);
/* Gets only the name of the service of @p. */
void service_name_of_process(const struct process *p, char ret[SERVICE_NAME_BYTES]);
/* Returns the name that a source has in the API. Static. */
const char *service_source_name(enum service_source source);
/* Returns the name of @source in attributes of profiles; "" for VERSION_OF_PROCESS. Static. */
const char *version_source_name(enum version_source source);

/* Gets the workload from a pod's name: "checkout-7d9f8b6c5d-x2x4z" belongs to "checkout", "db-0" to
 * "db". Points into @pod. */
struct span service_workload(struct span pod);
/* Gets the unit from a path of a cgroup: "/system.slice/shop.service" belongs to "shop". Empty
 * without a unit. Points into @cgroup. */
struct span service_unit(struct span cgroup);
/* Gets the name of a main class or jar without folders, packages and ".jar". Points into @main. */
struct span service_program(struct span main);
