// SPDX-License-Identifier: Apache-2.0
// Content that is renewed while it is read and used.

// Makes the content of @root read as @fresh: nodes, without listeners. What has the same tag and data-key at the same place is
// altered where it stands, so that a link keeps the focus, and a press on it is a click.
export function renewChildren(root, fresh) {
    const old = [...root.childNodes];

    fresh.forEach((node, i) => {
        if (!old[i])
            root.append(node);
        else if (old[i].nodeName !== node.nodeName || (node.dataset && node.dataset.key !== old[i].dataset.key))
            old[i].replaceWith(node);
        else
            renewNode(old[i], node);
    });
    old.slice(fresh.length).forEach((node) => node.remove());
}

function renewNode(node, fresh) {
    if (!fresh.attributes) {
        if (node.data !== fresh.data)
            node.data = fresh.data;
        return;
    }
    for (const { name } of [...node.attributes])
        if (!fresh.hasAttribute(name))
            node.removeAttribute(name);
    for (const { name, value } of fresh.attributes)
        if (node.getAttribute(name) !== value)
            node.setAttribute(name, value);
    renewChildren(node, [...fresh.childNodes]);
}
