// SPDX-License-Identifier: Apache-2.0
// The place of a panel's graphs: one, or two with a label each, below each other or side by side.

import { element, setText } from "../shared/dom.js";

export class Halves {
    constructor(graph) {
        this.label = element("p", { class: "side-label", hidden: true });
        this.otherLabel = element("p", { class: "side-label" });
        this.half = element("div", { class: "half" }, this.label, graph.root);
        this.otherHalf = element("div", { class: "half" }, this.otherLabel);
        this.root = element("div", { class: "graphs" }, this.half);
        this.other = null;
    }

    // @other: the second graph, or null. @beside: it stands on the left, else below.
    show(other, { beside, label }) {
        this.root.classList.toggle("beside", beside);
        this.label.hidden = !other;
        setText(this.otherLabel, label);
        if (other === this.other)
            return;
        this.other = other;
        this.otherHalf.replaceChildren(this.otherLabel, ...other ? [other.root] : []);
        if (!other)
            this.otherHalf.remove();
        else if (beside)
            this.half.before(this.otherHalf);
        else
            this.half.after(this.otherHalf);
    }

    // Of the first graph.
    setLabel(text) {
        setText(this.label, text);
    }
}
