// SPDX-License-Identifier: Apache-2.0
// What /api/v1/jvms says of a JVM, in words.

import { formatBytes } from "../shared/format.js";
import { shortMain } from "../shared/names.js";

export const text = (value) => value || "";
export const podOf = (jvm) => jvm.pod ? text(jvm.pod.name) || text(jvm.pod.uid) : "";
export const containerOf = (jvm) => jvm.container ? text(jvm.container.name) || text(jvm.container.id).slice(0, 12) : "";

export const placeOf = (jvm) => podOf(jvm) || containerOf(jvm);
export const mainOf = (jvm) => text(jvm.main) || "(unnamed)";

const NAMED_BY = ["context", "property", "environ", "kubernetes"]; // a person chose it; containers have a column of their own, units may have several

// What people call it: its service where a person named that, else its main class.
export const jvmName = (jvm) => (jvm.service && jvm.service.name && NAMED_BY.includes(jvm.service.source) ? jvm.service.name : shortMain(mainOf(jvm)));

// The same of a process of a capture, or of a JVM that has ended.
export const processName = ({ service, name, main = name }) => service || shortMain(main);

// "17.0.15" of "17.0.15+6-Debian-1deb12u1", "1.8.0_452" of "1.8.0_452-b09".
export const shortVersion = (version) => text(version).split(/[+-]/)[0] || "unknown";

const START_SLACK_MS = 1500; // the clocks that a start is worked out from drift against each other

// Whether two answers are about one process: pids are used again. The count of its execs begins again with flamed.
export function isSameJvm(a, b) {
    return a.pid === b.pid && Math.abs(Date.parse(a.start_time) - Date.parse(b.start_time)) < START_SLACK_MS &&
        ((a.exec || 0) === (b.exec || 0) || (a.main === b.main && a.args === b.args));
}

// "40 MiB/s"; "": not known.
export const allocates = ({ allocated_bytes_per_second: rate }) => (typeof rate === "number" ? `${formatBytes(rate)}/s` : "");

// "of a limit of 20 %"; "": there is none.
export const cpuLimitText = ({ cpu_limit: limit }) => (limit ? `of a limit of ${+(limit * 100).toFixed(1)}\u00a0%` : "");

export function isProfilable(jvm) {
    return Boolean(jvm.profilable) && jvm.profilable.symbols !== "none";
}
