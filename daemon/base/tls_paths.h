/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the paths of the files for TLS and of secrets in the text of flamed's configuration. The
 * broker, which opens them, has no reader of YAML. flamed compares the result with that of its
 * reader of YAML. Pure; thread: any.
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
    /* One that a key which ends in _file names, below `push` or `triggers`. The hash of its path
     * says which. */
    TLS_FILE_PUSHED = TLS_FILE_END,
};

/* "cert_file". Literal; NULL for the configuration. */
const char *tls_file_key(enum tls_file which);

/* Reads the value of @which below `tls_server_config`: plain or quoted text that stands on the line
 * of its key, without escapes. False: there is none, or it is written in another way. */
bool tls_path_find(struct span text, enum tls_file which, char ret[TLS_PATH_MAX + 1]);
/* Returns a hash of a path, never 0. */
uint32_t tls_path_hash(const char *path);
/* Reads the value of a key that ends in _file, below `push` or `triggers`, whose value has @hash.
 * It stands on the line of its key, without escapes. False: there is none, or it is written in
 * another way. */
bool tls_path_find_pushed(struct span text, uint32_t hash, char ret[TLS_PATH_MAX + 1]);
/* @path as seen from the folder of the configuration @config, which is absolute. False: too long.
 */
bool tls_path_beside(const char *config, const char *path, char ret[TLS_PATH_MAX + 1]);
