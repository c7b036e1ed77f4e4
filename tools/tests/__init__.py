# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the tools: `python3 -m unittest discover -s tools/tests -t tools`."""
