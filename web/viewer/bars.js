// SPDX-License-Identifier: Apache-2.0
// What stands around the graph: facts and quality, warnings, legend, the line about a frame, help.

import { element, setText } from "../shared/dom.js";
import { formatCount, formatMoment, formatSeconds, formatShare, formatTime, formatValue, plural, withLocalTimes } from "../shared/format.js";
import { KINDS } from "../shared/kinds.js";
import { packageColour } from "../shared/packages.js";
import { isNote, judgeQuality } from "../shared/quality.js";
import { idleSamples } from "../shared/rows.js";
import { nodeKind, nodeName } from "../shared/tree.js";

const PACKAGES_SHOWN = 10;
const FROM_HISTORY = /^from .* to .* this answer comes from the history: /; // which has minutes

export const KEYS = [
    ["← → ↑ ↓", "walk the frames"],
    ["Enter", "zoom into the frame"],
    ["Esc", "back"],
    ["0", "reset the zoom"],
    ["+ −", "zoom in and out (Ctrl+wheel too)"],
    ["/", "search: a regular expression; lower case finds both cases"],
    ["n N", "next, previous match"],
    ["r", "reverse: what was running at the root, its callers above"],
    ["i", "icicle: the root at the top"],
    ["t", "table of methods"],
    ["p", "colours by package, or by kind"],
    ["a", "all frames: those that start threads and lead to the kernel, too"],
    ["k", "a method's compiled, inlined and interpreted frames apart"],
    ["z", "threads that wait for work, shown or left out"],
    ["v", "widths by samples or by value, where they differ"],
    ["s", "sandwich: callers and callees of the method"],
    ["f h", "focus on the method, hide it"],
    ["m", "what can be done with the frame (right click too)"],
    ["c", "copy the name (double click too)"],
    ["d", "dark or light"],
    ["?", "this help"],
];

// When, how long, how often, named by what; and how good it is. @brief: without the day where that is today, and without
// what noticeList() says in a sentence where it is bad.
export function factsBar(profile, { brief = false } = {}) {
    const { meta, quality } = profile, isOfMinutes = profile.warnings.some((text) => FROM_HISTORY.test(text));
    const facts = [brief && meta.start ? formatMoment(Date.parse(meta.start)) : formatTime(meta.start),
        formatSeconds(meta.seconds) + (isOfMinutes ? ", whole minutes around the range" : "")];

    if (meta.hz)
        facts.push(+meta.hz.toFixed(1) + "\u00a0Hz");
    if (meta.unit !== "nanoseconds")
        facts.push(formatValue(meta.value, meta.unit));
    const bar = element("p", { class: "facts" }), idle = idleSamples(profile);
    const judged = judgeQuality(quality);

    for (const text of facts.filter(Boolean))
        bar.append(element("span", {}, text));
    if (idle)
        judged.facts[0].text += `, ${formatCount(idle)} idle`;
    for (const { text, isBad } of brief ? judged.facts.slice(0, 1) : judged.facts)
        bar.append(element("span", { class: isBad ? "bad" : null }, text));
    if (meta.symbols && meta.symbols.source)
        bar.append(element("span", { class: "symbols", title: meta.symbols.reason },
            "names: " + meta.symbols.source,
            meta.symbols.reason ? element("span", { class: "reason" }, " – " + meta.symbols.reason) : null));
    bar.title = [...judged.facts.map(({ text }) => text), meta.symbols && meta.symbols.reason].filter(Boolean).join(" · ");
    return bar;
}

// What limits this profile, in sentences; null when nothing does. @brief: the first in a line that opens all of them, or,
// where they only say how it was made, their number.
export function noticeList({ quality, warnings }, { brief = false } = {}) {
    const limits = warnings.filter((text) => !isNote(text)), bad = [...judgeQuality(quality).sentences, ...limits.map(withLocalTimes)];
    const sentences = [...bad, ...warnings.filter(isNote).map(withLocalTimes)];

    if (!sentences.length)
        return null;
    if (brief) {
        const more = sentences.length > 1 ? ` (and ${sentences.length - 1} more)` : "";
        const text = bad.length ? bad[0] + more : plural(sentences.length, "note", "notes");

        return element("details", { class: bad.length ? "notices-brief" : "notices-brief notes" }, element("summary", { title: sentences.join("\n") }, text),
            element("ul", { class: "notices" }, ...sentences.map((text) => element("li", {}, text))));
    }
    return element("ul", { class: "notices", "aria-label": "What limits this profile", tabindex: "0" },
        ...sentences.map((text) => element("li", {}, text)));
}

export class Legend {
    constructor() {
        this.root = element("ul", { class: "legend", "aria-label": "Kinds of frames that were running" });
    }

    // Every kind of the profile has its place whatever is zoomed, so that the graph does not move.
    show(kinds, whole, all) {
        const weights = new Map(kinds.map(({ kind, weight }) => [kind, weight]));

        this.root.replaceChildren(...all.map(({ kind }) => element("li", {
            title: KINDS[kind].text, class: weights.has(kind) ? null : "absent",
        }, element("span", { class: "chip kind-" + KINDS[kind].id }), KINDS[kind].label + " ",
        element("span", { class: "num" }, formatShare(weights.get(kind) || 0, whole)))));
    }
    // @list of sumPackages().
    showPackages(list, whole, theme) {
        const shown = list.slice(0, PACKAGES_SHOWN);
        const rest = list.slice(PACKAGES_SHOWN).reduce((sum, { weight }) => sum + weight, 0);
        const entry = (name, weight, colour) => {
            const chip = element("span", { class: "chip" });

            chip.style.background = colour;
            return element("li", {}, chip, element("bdi", {}, name), " ",
                element("span", { class: "num" }, formatShare(weight, whole)));
        };

        this.root.replaceChildren(...shown.map(({ pack, weight }) =>
            entry(pack || "no name known", weight, packageColour(pack, theme))),
        ...rest ? [element("li", {}, `${formatCount(list.length - shown.length)} more `,
            element("span", { class: "num" }, formatShare(rest, whole)))] : []);
    }
}

// Everything that is known about a frame, as {name, facts: [text]}.
export function describe(tree, node, view) {
    const { meta } = tree.profile;
    const group = node > 0 ? tree.profile.groups[tree.group[node]] : null;
    const total = tree.total[node], all = tree.total[0], span = view.x1 - view.x0;
    const facts = [formatShare(total, all) + " of all"];

    if (span < all * (1 - 1e-9))
        facts.push(formatShare(Math.min(total, span), span) + " of the view");
    facts.push(plural(tree.samples[node], "sample", "samples"));
    if (meta.unit && meta.unit !== "count")
        facts.push(formatValue(tree.values[node], meta.unit));
    if (!tree.reverse)
        facts.push("self " + formatShare(tree.self[node], all) +
            (tree.self[node] ? ` (${selfText(tree, node)})` : ""));
    if (group) {
        facts.push(group.tiers ? tiersText(group.tiers) : KINDS[nodeKind(tree, node)].text);
        const line = lineText(tree, node, group.file);

        if (line)
            facts.push(line);
        if (group.module)
            facts.push(group.module);
        if (group.note)
            facts.push(group.note);
        if (group.inferred)
            facts.push("as a leaf inferred by its loop: " + plural(group.inferred, "sample", "samples"));
        if (group.unsure)
            facts.push("unsure: " + plural(group.unsure, "sample", "samples"));
    }
    return { name: nodeName(tree, node), facts };
}

// "Java compiled 83 %, Interpreted 17 %": of all the stacks with that method.
function tiersText(tiers) {
    const whole = tiers.reduce((sum, { samples }) => sum + samples, 0);

    return tiers.map(({ kind, samples }) => `${KINDS[kind].label} ${formatShare(samples, whole)}`).join(", ");
}

function selfText(tree, node) {
    return tree.weight === "value" ? formatValue(tree.self[node], tree.profile.meta.unit)
        : formatCount(tree.self[node]);
}

function lineText(tree, node, file) {
    const from = tree.lineMin[node], to = tree.lineMax[node];
    const place = !from ? "" : from === to ? String(from) : `${from}–${to}`;

    if (file)
        return place ? `${file}:${place}` : file;
    return place ? `line ${place}` : "";
}

// The line at the bottom, so that nothing is only on hover.
export class StatusLine {
    // @menu(): asked for by the button at its end.
    constructor(menu) {
        this.name = element("span", { class: "status-name" });
        this.facts = element("span", { class: "status-facts" });
        this.more = element("button", {
            type: "button", class: "tool more", title: "What can be done with this frame (m)",
            "aria-label": "What can be done with this frame", "aria-haspopup": "menu", onclick: menu,
        }, "…");
        this.root = element("div", { class: "status" },
            element("div", { class: "status-text" }, this.name, this.facts), this.more);
        this.live = element("div", { class: "offscreen", "aria-live": "polite", role: "status" });
    }

    show({ name, facts }) {
        setText(this.name, name);
        setText(this.facts, facts.join(" · "));
    }

    say(text) {
        setText(this.live, text);
    }

    // Stands in the line until the next frame is shown.
    flash(text) {
        setText(this.facts, text);
    }
}

const TIP_OFFSET = 14;

export class Tooltip {
    constructor() {
        this.name = element("div", { class: "tip-name" });
        this.facts = element("div", { class: "tip-facts" });
        this.root = element("div", { class: "tip", "aria-hidden": "true", hidden: true }, this.name, this.facts);
    }

    show({ name, facts }, event) {
        setText(this.name, name);
        setText(this.facts, facts.join(" · "));
        this.root.hidden = false;
        const box = this.root.getBoundingClientRect();
        const x = Math.min(event.clientX + TIP_OFFSET, innerWidth - box.width - 4);
        const below = event.clientY + TIP_OFFSET;
        const y = below + box.height > innerHeight - 4 ? event.clientY - box.height - TIP_OFFSET : below;

        this.root.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
    }

    hide() {
        this.root.hidden = true;
    }
}

// @questions: [question, what answers it] of the owner.
export function helpDialog(keys, questions = []) {
    const close = element("button", { type: "button", class: "tool help-close" }, "Close");
    const dialog = element("dialog", { class: "help", "aria-label": "Help" }, close, // first, so that it opens at its beginning
        ...questions.length ? [element("h2", {}, "What to ask, and where"),
            element("dl", {}, ...questions.flatMap(([question, answer]) => [element("dt", {}, question), element("dd", {}, answer)]))] : [],
        element("h2", {}, "Reading it"),
        element("p", {}, "A frame is as wide as the share of samples that had it on their stack; what it calls " +
            "stands on it. Its colour shows how the code ran, a slight change of hue another package. The numbers " +
            "of the legend are what was running, not what was waiting for a callee. Paler frames are Java of the JDK and of libraries."),
        element("h2", {}, "Keys"),
        element("dl", {}, ...keys.flatMap(([key, text]) => [
            element("dt", {}, ...key.split(" ").map((k) => element("kbd", {}, k))), element("dd", {}, text)])));

    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (e) => {
        if (e.target === dialog)
            dialog.close();
    });
    return dialog;
}
