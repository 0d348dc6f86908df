#!/usr/bin/env python3
"""Holds a report against labels: eval/score.py REPORT.json LABELS.csv [--kinds] [--heavy N] [--wrong N]

Labels are rows of source,label[,campaign][,habit][,…] with label user, legitimate, unauthorized, masquerading, crawler or automated.
Sources that the report only counts appear as 'unlisted': make the report with --min-requests 1. Prints confusion tables of sources and
of page requests and the wrong verdicts.

--kinds    also by the kind of people or robots (the column habit)
--heavy N  only sources with N requests or more
--wrong N  at most N wrong verdicts (default 40)
"""
import argparse
import collections
import csv
import json

CLASSES = ["user", "crawler", "automated", "undecided", "unlisted"]


def is_wrong(label, verdict):
    if label == "user":
        return verdict in ("crawler", "automated")
    return verdict == "user"


def table(title, rows):
    """Rows: (name, Counter of classes)."""
    print(f"{title:<34}" + "".join(f"{name:>11}" for name in CLASSES) + f"{'sum':>10}{'wrong %':>9}")
    for name, label, counts in rows:
        all_of = sum(counts.values())
        wrong = sum(count for verdict, count in counts.items() if is_wrong(label, verdict))
        print(f"{name:<34}" + "".join(f"{counts[c]:>11}" for c in CLASSES) + f"{all_of:>10}{100 * wrong / max(all_of, 1):>9.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("labels")
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--heavy", type=int, default=0)
    parser.add_argument("--wrong", type=int, default=40)
    options = parser.parse_args()
    with open(options.report) as file:
        found = {source["source"]: source for source in json.load(file)["sources"]}
    with open(options.labels, newline="") as file:
        rows = list(csv.DictReader(file))
    sources, pages, kinds = (collections.defaultdict(collections.Counter) for _ in range(3))
    page_kinds = collections.defaultdict(collections.Counter)
    called = collections.Counter()
    wrong = []
    for row in rows:
        label, entry = row["label"], found.get(row["source"])
        if options.heavy and (entry is None or entry["requests"] < options.heavy):
            continue
        verdict = entry["class"] if entry else "unlisted"
        sources[label][verdict] += 1
        pages[label][verdict] += entry["pages"] if entry else 0
        kind = (label, row.get("habit") or "")
        kinds[kind][verdict] += 1
        page_kinds[kind][verdict] += entry["pages"] if entry else 0
        if verdict == "crawler":
            called[label, entry["kind"]] += 1
        if is_wrong(label, verdict):
            wrong.append((label, row.get("habit") or "", entry))
    table("sources by label", [(label, label, sources[label]) for label in sorted(sources)])
    table("page requests by label", [(label, label, pages[label]) for label in sorted(pages)])
    if options.kinds:
        table("sources by kind", [(f"{label} {kind}"[:33], label, kinds[label, kind]) for label, kind in sorted(kinds)])
        table("page requests by kind", [(f"{label} {kind}"[:33], label, page_kinds[label, kind]) for label, kind in sorted(kinds)])
    print("kinds:", ", ".join(f"{label} called {kind}: {count}" for (label, kind), count in sorted(called.items(), key=str)))
    people, robots = sources["user"], collections.Counter()
    robot_pages = collections.Counter()
    for label in sources:
        if label != "user":
            robots.update(sources[label])
            robot_pages.update(pages[label])
    share = lambda part, counts: 100 * part / max(sum(counts.values()), 1)
    print(f"people: recognised {share(people['user'], people):.2f} %, undecided {share(people['undecided'], people):.2f} %, accused {share(people['crawler'] + people['automated'], people):.2f} %")
    print(f"robots: found {share(robots['crawler'] + robots['automated'], robots):.2f} %, undecided {share(robots['undecided'], robots):.2f} %, taken for people {share(robots['user'], robots):.2f} %")
    print(f"robots' page requests: found {share(robot_pages['crawler'] + robot_pages['automated'], robot_pages):.2f} %, undecided {share(robot_pages['undecided'], robot_pages):.2f} %, taken for people {share(robot_pages['user'], robot_pages):.2f} %")
    truth = sum(pages["user"].values())
    counted = sum(pages[label]["user"] for label in pages)
    print(f"page views of class user: {counted}, truth {truth}, {100 * (counted / max(truth, 1) - 1):+.1f} %")
    for label, kind, entry in wrong[: options.wrong]:
        why = "; ".join(f"{item['weight']:+.0f} {item['why']}" for item in entry["evidence"])
        print(f"  {label} {kind} called {entry['class']}: {entry['source']} ({entry['requests']} requests, {entry['pages']} pages, as {entry['agent']}): {why}")


main()
