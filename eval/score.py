#!/usr/bin/env python3
"""Holds a report against labels: eval/score.py REPORT.json LABELS.csv

Labels are rows of source,label[,…] with label user, legitimate, unauthorized, masquerading, crawler or automated.
Sources that the report only counts appear as 'unlisted'. Prints a confusion table and the wrong verdicts.
"""
import collections
import csv
import json
import sys

CLASSES = ["user", "crawler", "automated", "undecided", "unlisted"]


def main():
    report, labels = sys.argv[1:3]
    with open(report) as file:
        found = {source["source"]: source for source in json.load(file)["sources"]}
    with open(labels, newline="") as file:
        rows = [(row["source"], row["label"]) for row in csv.DictReader(file)]
    table = collections.Counter()
    kinds = collections.Counter()
    wrong = []
    for source, label in rows:
        entry = found.get(source)
        verdict = entry["class"] if entry else "unlisted"
        table[label, verdict] += 1
        if verdict == "crawler":
            kinds[label, entry["kind"]] += 1
        if (label == "user" and verdict in ("crawler", "automated")) or (label != "user" and verdict == "user"):
            wrong.append((label, entry))
    print(f"{'label':<14}" + "".join(f"{name:>11}" for name in CLASSES) + f"{'sum':>9}")
    for label in sorted({label for _, label in rows}):
        counts = [table[label, name] for name in CLASSES]
        print(f"{label:<14}" + "".join(f"{count:>11}" for count in counts) + f"{sum(counts):>9}")
    print("kinds:", ", ".join(f"{label} called {kind}: {count}" for (label, kind), count in sorted(kinds.items(), key=str)))
    for label, entry in wrong:
        why = "; ".join(f"{item['weight']:+.0f} {item['why']}" for item in entry["evidence"])
        print(f"  {label} called {entry['class']}: {entry['source']} ({entry['requests']} requests, as {entry['agent']}): {why}")


main()
