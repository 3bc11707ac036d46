// SPDX-License-Identifier: Apache-2.0
// A menu that opens where it was asked for: by mouse or keyboard, closed by Escape, by a choice or by a press
// elsewhere.

import { element } from "./dom.js";

let openedMenu = null;

export function closeMenu({ refocus = true } = {}) {
    if (!openedMenu)
        return;
    const { root, before, outside } = openedMenu;

    openedMenu = null;
    removeEventListener("pointerdown", outside, true);
    root.remove();
    if (refocus && before && before.isConnected)
        before.focus();
}

// @items: [{label, key, run() | href, download, isOn}]; isOn, true or false, of a switch. @at: {x, y} of the window;
// @label: its accessible name.
export function openMenu(items, at, label) {
    closeMenu({ refocus: false });
    const before = document.activeElement;
    const choices = items.map((item) => item.href
        ? element("a", {
            role: "menuitem", class: "menu-item", href: item.href, download: item.download || "", tabindex: "-1",
            onclick: () => closeMenu(),
        }, item.label, element("span", { class: "menu-key" }, item.key || ""))
        : element("button", {
            role: "isOn" in item ? "menuitemcheckbox" : "menuitem", "aria-checked": "isOn" in item ? String(item.isOn) : null,
            class: "menu-item", type: "button", tabindex: "-1", onclick: () => { closeMenu(); item.run(); },
        }, item.label, element("span", { class: "menu-key" }, item.key || "")));
    const root = element("div", { class: "menu", role: "menu", "aria-label": label }, ...choices);
    const step = (by) => {
        const i = choices.indexOf(document.activeElement);

        choices[(i + by + choices.length) % choices.length].focus();
    };

    root.addEventListener("keydown", (event) => {
        const moves = {
            ArrowDown: () => step(1), ArrowUp: () => step(-1), Home: () => choices[0].focus(),
            End: () => choices[choices.length - 1].focus(), Escape: () => closeMenu(), Tab: () => closeMenu(),
        };

        event.stopPropagation();
        if (moves[event.key]) {
            event.preventDefault();
            moves[event.key]();
        }
    });
    root.addEventListener("contextmenu", (event) => event.preventDefault());
    document.body.append(root);
    const box = root.getBoundingClientRect();
    const x = Math.max(4, Math.min(at.x, innerWidth - box.width - 4));
    const y = at.y + box.height > innerHeight - 4 ? Math.max(4, at.y - box.height) : at.y;
    const outside = (event) => {
        if (!root.contains(event.target))
            closeMenu({ refocus: false });
    };

    root.style.transform = `translate(${x}px, ${y}px)`;
    addEventListener("pointerdown", outside, true);
    openedMenu = { root, before, outside };
    choices[0].focus();
}
