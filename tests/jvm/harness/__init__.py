# SPDX-License-Identifier: Apache-2.0
"""Shared code of the tests with real JVMs. It needs only Python's standard library and Debian's tools."""
