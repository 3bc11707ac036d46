// SPDX-License-Identifier: Apache-2.0
// What is wrong with JVMs, as /api/v1/signals says it, and where in the page its evidence is.

import { formatRoute } from "./route.js";

const WORST = 3;
const SEVERITIES = ["", "little", "much", "severe"]; // classes, by what it costs

// The worst first, then the oldest: [{signal, severity, pid, since (ms since 1970), sentence, remedy, evidence}].
export function openSignals({ signals }) {
    return signals.map((one) => ({ ...one, since: Date.parse(one.since) }))
        .sort((a, b) => b.severity - a.severity || a.since - b.since);
}

export const severityClass = ({ severity }) => SEVERITIES[Math.max(0, Math.min(WORST, severity))] || "little";

// The signals of each pid: Map.
export function signalsByPid(list) {
    const map = new Map();

    for (const one of list)
        map.set(one.pid, [...map.get(one.pid) || [], one]);
    return map;
}

// {label, href} in the page of a path of the API that shows a signal; null: it has no view.
export function evidenceLink(evidence) {
    const [path, query = ""] = evidence.split("?");
    const params = new URLSearchParams(query), one = /^\/api\/v1\/jvms\/(\d+)\/heap$/.exec(path);
    const subject = params.get("pid") || "node";

    if (one)
        return { label: "Memory", href: formatRoute("jvm", one[1], { tab: "memory" }) };
    if (path !== "/profile")
        return null;
    if (params.get("event"))
        return { label: "Capture it …", href: formatRoute("jvm", subject, { start: params.get("event") }) };
    return { label: "What ran then", href: formatRoute("jvm", subject, { from: params.get("from"), to: params.get("to") }) };
}
