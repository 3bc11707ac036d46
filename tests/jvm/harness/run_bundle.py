# SPDX-License-Identifier: Apache-2.0
"""run_bundle.py BUNDLE COMMAND...: runs COMMAND in the container that BUNDLE/config.json describes, in the foreground."""
import json
import os
import secrets
import sys

folder, command = sys.argv[1], sys.argv[2:]
path = os.path.join(folder, "config.json")
with open(path, encoding="utf-8") as f:
    config = json.load(f)
config["process"]["args"] = command
with open(path, "w", encoding="utf-8") as f:
    json.dump(config, f)
os.execvp("runc", ["runc", "--root", os.path.join(folder, "state"), "run", "-b", folder, "flamed-" + secrets.token_hex(4)])
