/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapping annotations: which HTTP requests a class or a method handles. Parses the bytes of a class
 * file's RuntimeVisibleAnnotations, as the VM keeps them. The bytes are foreign: sizes, depth and
 * values have limits. Pure but for the caller's function; thread: any.
 */
#pragma once

#include "base/span.h"

#define ANNOTATIONS_BYTES_MAX ((size_t)16 << 10) /* read for one route, texts included */
#define ANNOTATIONS_VALUES_MAX 4096              /* values read for one route */
#define ANNOTATIONS_MAX 64         /* of a class or method; elements of one annotation */
#define ANNOTATIONS_ARRAY_MAX 1024 /* values of an array */
#define ANNOTATIONS_DEPTH_MAX 8
#define ANNOTATIONS_ROUTE_MAX 512 /* bytes of a route */
#define ANNOTATIONS_TEXT_MAX (ANNOTATIONS_ROUTE_MAX + 8)

enum annotations_api {
    MAPPING_NONE,
    MAPPING_SPRING,
    MAPPING_EXCHANGE, /* Spring's @HttpExchange */
    MAPPING_JAX_RS,
    MAPPING_MICRONAUT,
};

/* The mapping of a class or a method. */
struct annotated {
    uint8_t api;  /* enum annotations_api */
    bool unsure;  /* it has several paths, or one that is not known */
    bool foreign; /* it also has an annotation of the application, which may be a mapping */
    bool has_path;
    bool inherited;  /* a base type has the mapping */
    uint16_t verbs;  /* HTTP methods, as bits */
    uint16_t path_n; /* bytes */
    char path[ANNOTATIONS_ROUTE_MAX];
};

/* What was read for one route: annotations of a method, its class and that class's base types. */
struct annotations_used {
    size_t bytes; /* bytes of annotations and of their texts */
    unsigned values;
};

/* Gets the text of constant @index as raw bytes, cut to @max bytes of @buf, which is
 * ANNOTATIONS_TEXT_MAX. A text that was cut has at least @max - 7 bytes. Returns the number of
 * bytes, or -errno. */
typedef int (*annotations_text_fn)(void *cookie, uint16_t index, char *buf, size_t max);

/* Reads the mapping in @annotations, and adds to @used. Return: 0; -EBADMSG: malformed, or above a
 * limit; the -errno of @text. */
int annotations_read(struct span annotations, annotations_text_fn text, void *cookie,
                     struct annotations_used *used, struct annotated *ret);
/* Adds the mapping of a base type to @m, a class or method without its own mapping. If several base
 * types have a mapping, @m becomes unsure: frameworks differ in which one they use. */
void annotations_inherit(struct annotated *m, const struct annotated *above);
/* Returns whether the type with descriptor @type, such as "Lshop/Cart;", belongs to the
 * application. */
bool annotations_is_own(struct span type);
/* Writes the route of a method, such as "GET /orders/{id}", as raw bytes without NUL. A route for
 * several HTTP methods is the path alone. Returns the number of bytes; 0: no certain route. */
size_t annotations_route(const struct annotated *of_class, const struct annotated *of_method,
                         char ret[ANNOTATIONS_ROUTE_MAX]);
