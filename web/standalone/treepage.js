// SPDX-License-Identifier: Apache-2.0
// Opens, closes and searches the branches of the call tree's page. Without it they open one by one.

const TREE_SEARCH_DELAY_MS = 80;

function treeRegex(text) {
    const flags = text === text.toLowerCase() ? "iu" : "u";

    try {
        return new RegExp(text, flags);
    } catch {
        return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
    }
}

function openAll(isOpen) {
    for (const branch of document.querySelectorAll("details"))
        branch.open = isOpen;
}

// Marks the frames that match, and opens the way to each.
function findInTree(text) {
    const regex = text ? treeRegex(text) : null;
    let count = 0;

    for (const frame of document.querySelectorAll("#tree .f")) {
        const isHit = Boolean(regex) && !frame.closest(".h") && regex.test(frame.textContent);

        frame.classList.toggle("hit", isHit);
        if (!isHit)
            continue;
        count++;
        for (let branch = frame.closest("summary") ? frame.closest("details").parentNode : frame.parentNode;
            branch && branch.id !== "tree"; branch = branch.parentNode)
            if (branch.tagName === "DETAILS")
                branch.open = true;
    }
    document.getElementById("found").textContent = regex ? `${count} found` : "";
    if (count)
        document.querySelector("#tree .hit").scrollIntoView({ block: "center" });
}

function startTree() {
    const input = document.getElementById("find");
    let timer = 0;

    document.getElementById("open").addEventListener("click", () => openAll(true));
    document.getElementById("close").addEventListener("click", () => openAll(false));
    input.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => findInTree(input.value), TREE_SEARCH_DELAY_MS);
    });
    document.getElementById("bar").hidden = false;
}

startTree();
