/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of targets: hosts and ports. Pure; thread: any. */
#pragma once

#include "push/push_config.h"
#include "push/pusher_abi.h"

/* Returns whether @url is an address with a host, without a user, '?' and '#'. Drops the '/' at its
 * end. */
bool push_url_is_address(struct span *url);
/* Writes the url of @t for its status. For a webhook, writes only scheme, host and port, because
 * the path is often a secret. */
void push_url_shown(const struct push_target *t, char ret[PUSH_URL_MAX + 1]);
/* Writes the ports of the targets of @config and of their proxies, each port once. Returns the
 * number of ports. */
size_t push_ports(const struct push_config *config, uint16_t ret[PUSHER_PORTS_MAX]);
/* Returns whether @t sends a secret (a password, credentials or a header) unencrypted to another
 * machine. */
bool push_shows_secret(const struct push_target *t);
