# SPDX-License-Identifier: Apache-2.0
"""What the tests with real JVMs stand on: Python's standard library and Debian's tools, nothing else."""
