/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the paths of the files for TLS and of secrets in the text of flamed's configuration. The
 * broker opens these files and has no YAML parser. flamed compares the result with the result of
 * its own YAML parser. Pure; thread: any.
 */
#pragma once

#include "base/span.h"

#define TLS_PATH_MAX 1023

/* The files that flamed's process has no right to open. The numbers are the broker's wire format.
 */
enum tls_file {
    TLS_FILE_CONFIG, /* the configuration itself */
    TLS_FILE_CERT,
    TLS_FILE_KEY,
    TLS_FILE_CLIENT_CA,
    TLS_FILE_END,
    /* A file named by a key that ends in _file, below `push` or `triggers`. A hash of its path
     * selects it. */
    TLS_FILE_PUSHED = TLS_FILE_END,
};

/* Returns the key of @which, such as "cert_file"; a literal. Returns NULL for the configuration. */
const char *tls_file_key(enum tls_file which);

/* Reads the value of @which below `tls_server_config`: plain or quoted text on the line of its key,
 * without escapes. Returns false if the value is missing or has another form. */
bool tls_path_find(struct span text, enum tls_file which, char ret[TLS_PATH_MAX + 1]);
/* Returns a hash of a path, never 0. */
uint32_t tls_path_hash(const char *path);
/* Reads the path with the hash @hash, given by a key that ends in _file, below `push` or
 * `triggers`. The path has to be on the line of its key, without escapes. Returns false if no path
 * has that hash. */
bool tls_path_find_pushed(struct span text, uint32_t hash, char ret[TLS_PATH_MAX + 1]);
/* Makes @path absolute, relative to the folder of the configuration @config, which is absolute.
 * Returns false if the result is too long. */
bool tls_path_beside(const char *config, const char *path, char ret[TLS_PATH_MAX + 1]);
