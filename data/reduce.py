#!/usr/bin/env python3
"""Reduces the package crawler-user-agents to what is used: data/reduce.py PACKAGE/crawler-user-agents.json

Writes crawler-user-agents.json beside this script: pattern and tags of every entry, in the package's order. Examples,
addresses and descriptions are left out. Then put version and hashes into NOTICE.md.
"""
import json
import pathlib
import sys

entries = json.load(open(sys.argv[1]))
lines = [json.dumps({"pattern": entry["pattern"], "tags": entry.get("tags", [])}, ensure_ascii=False) for entry in entries]
pathlib.Path(__file__).with_name("crawler-user-agents.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
