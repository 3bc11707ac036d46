/* SPDX-License-Identifier: Apache-2.0 */
/* Implements struct discover_source by the broker. */
#include "discover/table.h"

const struct discover_source DISCOVER_SOURCE_BROKER = {
    .maps = broker_maps,
    .mem = broker_mem,
    .pagemap = broker_pagemap,
    .hsperfdata = broker_hsperfdata,
    .service_words = broker_service_words,
    .tracer_info = broker_tracer_info,
    .program_jar = broker_program_jar,
    .container_config = broker_container_config,
    .container_logs = broker_container_logs,
    .cgroup = broker_cgroup,
    .namespace_user = broker_namespace_user,
    .is_quarantined = broker_is_quarantined,
    .sideband = broker_sideband,
};
