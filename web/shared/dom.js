// SPDX-License-Identifier: Apache-2.0
// Elements without markup: text goes in as text nodes only, so that a name can never become HTML. Styles are
// classes, or set through the CSSOM, which a strict Content-Security-Policy allows.

// element("button", {class: "x", type: "button", onclick: f, "aria-label": "…"}, child, "text", …)
export function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);

    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false)
            continue;
        if (typeof value === "function")
            node.addEventListener(name.slice(2), value);
        else
            node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
}

export function setText(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

// Resolves to whether it worked: where the clipboard is closed (plain http) an older way is tried.
export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = element("textarea", { class: "offscreen", "aria-hidden": "true" });
        const before = document.activeElement;

        area.value = text;
        document.body.append(area);
        area.select();
        let done = false;

        try {
            done = document.execCommand("copy");
        } catch {
            done = false;
        }
        area.remove();
        if (before && before.focus)
            before.focus();
        return done;
    }
}

// "light" or "dark": what was chosen here before, else what the system says.
const THEME_KEY = "flamed.theme";

export function chosenTheme() {
    let stored = null;

    try {
        stored = localStorage.getItem(THEME_KEY);
    } catch {
        stored = null; // storage may be closed to files
    }
    if (stored === "light" || stored === "dark")
        return stored;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function storeTheme(theme) {
    try {
        localStorage.setItem(THEME_KEY, theme);
    } catch {
        // it then lasts as long as the page
    }
}

// The packages that a person called its own, "": none. Kept here, and in the address.
const OWN_KEY = "flamed.mine";

export function storedOwn() {
    try {
        return localStorage.getItem(OWN_KEY) || "";
    } catch {
        return "";
    }
}

export function storeOwn(mine) {
    try {
        localStorage.setItem(OWN_KEY, mine);
    } catch {
        // the address still carries the list
    }
}

// Where there is room, the table of methods stands beside the graph from the start.
export const isWide = () => matchMedia("(min-width: 1100px)").matches;

// On a phone the page scrolls as a whole, and graphs open with their root in sight.
export const isNarrow = () => matchMedia("(max-width: 640px)").matches;
