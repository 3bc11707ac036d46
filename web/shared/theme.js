// SPDX-License-Identifier: Apache-2.0
// Dark or light: what the system says until somebody chooses. The colours of kinds reach the style sheet as
// custom properties.

import { THEMES, paletteOf } from "./colors.js";
import { chosenTheme, element, setText, storeTheme } from "./dom.js";
import { KINDS } from "./kinds.js";

export class ThemeSwitch {
    // @changed(theme) is called at the start and with each change.
    constructor(changed) {
        this.changed = changed;
        this.root = element("button", {
            type: "button", class: "tool", title: "Dark or light (d)", onclick: () => this.toggle(),
        });
    }

    start() {
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.set(chosenTheme()));
        this.set(chosenTheme());
    }

    set(theme) {
        const palette = paletteOf(theme);
        const root = document.documentElement;

        this.theme = theme;
        root.dataset.theme = theme;
        KINDS.forEach(({ id }, kind) => root.style.setProperty("--kind-" + id, palette.kind(kind)));
        for (const [id, colour] of Object.entries(palette.category))
            root.style.setProperty("--category-" + id, colour);
        root.style.setProperty("--match", palette.match);
        setText(this.root, theme === "dark" ? "Light" : "Dark");
        this.changed(theme);
    }

    toggle() {
        const theme = THEMES[1 - THEMES.indexOf(this.theme)];

        storeTheme(theme);
        this.set(theme);
    }
}
