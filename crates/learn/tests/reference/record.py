"""Records bayes.json, cn2.json, svm.json and trees.json, which tests/it holds our classifiers against.

Run in this folder with Python 3.11, Orange3 3.40, scikit-learn 1.9.1 and numpy 2.3.5: python record.py
"""

import json

import numpy as np
import Orange
from Orange.classification import CN2Learner, NaiveBayesLearner
from Orange.classification.rules import RuleHunter, get_dist
from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

random = np.random.RandomState(20240601)


def table(name, kinds, rows, classes):
    """kinds: the number of values of each attribute, 0 when it is continuous."""
    return {
        "name": name,
        "kinds": kinds,
        "rows": [[float(value) for value in row] for row in rows],
        "classes": [int(c) for c in classes],
    }


def domain_of(data):
    variables = [
        DiscreteVariable(f"a{i}", [f"v{v}" for v in range(k)]) if k else ContinuousVariable(f"a{i}")
        for i, k in enumerate(data["kinds"])
    ]
    return Domain(variables, DiscreteVariable("class", ["negative", "positive"]))


def orange_table(data):
    rows, classes = np.array(data["rows"]), np.array(data["classes"], dtype=float)
    return Table.from_numpy(domain_of(data), rows, classes)


def draw(name, kinds, count, is_positive, digits=2):
    """Rows of random values, and classes by a function of the row that returns a probability."""
    columns = [
        random.randint(k, size=count) if k else np.round(random.normal(size=count), digits)
        for k in kinds
    ]
    rows = np.column_stack(columns)
    classes = [random.uniform() < is_positive(row) for row in rows]
    return table(name, kinds, rows, classes)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def record_bayes():
    cases = []
    for name, kinds, count, rule in [
        ("coins", [2, 2, 2], 40, lambda r: 0.8 if r[0] else 0.3),
        ("many values", [7, 3, 5, 4], 150, lambda r: logistic(r[0] - 3 + r[1] * r[2] / 4)),
        ("rare", [4, 6], 120, lambda r: 0.3 if r[0] == 2 and r[1] < 3 else 0.02),
        ("unseen values", [9, 9], 12, lambda r: 0.5),
    ]:
        data = draw(name, kinds, count, rule)
        model = NaiveBayesLearner()(orange_table(data))
        asked = [[int(random.randint(k)) for k in kinds] for _ in range(30)]
        _, chances = model.predict(np.array(asked, dtype=float))
        cases.append({"table": data, "asked": asked, "expected": [float(c[1]) for c in chances]})
    return cases


class TestedHunter(RuleHunter):
    """Orange's search, except that the first candidate must be significant, too (see src/rules.rs)."""

    def __call__(self, X, Y, W, target_class, base_rules, domain, initial_class_dist, existing_rules):
        rules = self.search_strategy.initialise_rule(
            X, Y, W, target_class, base_rules, domain, initial_class_dist, get_dist(Y, W, domain),
            self.quality_evaluator, self.complexity_evaluator,
            self.significance_validator, self.general_validator)
        if not rules:
            return None
        empty, best, is_refined = rules[0], None, False
        while rules:
            candidates, rules = self.search_algorithm.select_candidates(rules)
            for candidate in candidates:
                found = self.search_strategy.refine_rule(X, Y, W, candidate)
                is_refined |= len(found) > 0
                rules.extend(found)
                for rule in found[0 if candidate.length == 0 else 1:]:
                    if (best is None or rule.quality > best.quality) and rule.is_significant():
                        best = rule
            rules = sorted(rules, key=lambda rule: (rule.quality, rule.complexity), reverse=True)
            rules = self.search_algorithm.filter_rules(rules)
        if best is None and not is_refined:
            best = empty
        if best is not None:
            best.create_model()
        return best


def rule_list(data, settings, hunter):
    learner = CN2Learner()
    learner.rule_finder = finder = hunter
    finder.search_algorithm.beam_width = settings["beam_width"]
    finder.general_validator.min_covered_examples = settings["covered_min"]
    finder.general_validator.max_rule_length = settings["length_max"]
    finder.significance_validator.default_alpha = settings["alpha"]
    return [
        {
            "conditions": [[s.column, s.op, float(s.value)] for s in rule.selectors],
            "negatives": int(rule.curr_class_dist[0]),
            "positives": int(rule.curr_class_dist[1]),
        }
        for rule in learner(orange_table(data)).rule_list
    ]


def record_cn2():
    mixed = draw("mixed", [3, 0, 0, 2], 120, lambda r: 0.95 if r[0] == 1 and r[1] > 0.2 else 0.1)
    cut = draw("continuous", [0, 0, 0], 110, lambda r: logistic(6 * r[0] - 4 * r[1] * r[1]), 1)
    words = draw("discrete", [4, 3, 5, 2], 130, lambda r: logistic(r[0] - 1 + r[2] - 2 * r[3]))
    noise = draw("noise", [3, 0, 2, 0], 80, lambda r: 0.4, 1)
    sharp = draw("sharp", [2, 0, 0], 100, lambda r: float(r[1] > 0 and (r[0] == 1 or r[2] > 0.5)))
    cases = []
    for data in [mixed, cut, words, noise, sharp]:
        lists = []
        for beam_width, covered_min, length_max, alpha in [
            (5, 1, 5, 1.0),
            (5, 5, 5, 0.05),
            (3, 8, 2, 1.0),
            (10, 10, 3, 0.01),
        ]:
            settings = {"beam_width": beam_width, "covered_min": covered_min,
                        "length_max": length_max, "alpha": alpha}
            lists.append({
                **settings,
                "orange": rule_list(data, settings, RuleHunter()),
                "tested": rule_list(data, settings, TestedHunter()),
            })
        cases.append({"table": data, "lists": lists})
    return cases


def coordinates(data, rows):
    """Standardised by the training rows; one coordinate for each value of a discrete attribute."""
    learned, rows = np.array(data["rows"]), np.array(rows)
    columns = []
    for i, k in enumerate(data["kinds"]):
        if k:
            columns += [(rows[:, i] == v).astype(float) for v in range(k)]
        else:
            columns.append((rows[:, i] - learned[:, i].mean()) / learned[:, i].std())
    return np.column_stack(columns)


def record_svm():
    cases = []
    for name, kinds, count, rule in [
        ("ring", [0, 0], 120, lambda r: float(r[0] ** 2 + r[1] ** 2 < 1)),
        ("mixed", [3, 0, 0, 0], 120, lambda r: logistic(2 * r[1] - 1 + r[0])),
        ("rare", [0, 0, 2], 150, lambda r: logistic(3 * r[0] - 5)),
    ]:
        data = draw(name, kinds, count, rule)
        for c, gamma in [(0.5, 0.125), (8.0, 0.5), (128.0, 0.03125)]:
            classes = np.array(data["classes"])
            positives = int(classes.sum())
            negatives = len(classes) - positives
            # The rarer class weighs as much as the other, up to ten times.
            weights = {
                0: min(10, max(1, positives / negatives)),
                1: min(10, max(1, negatives / positives)),
            }
            machine = SVC(C=c, gamma=gamma, class_weight=weights, tol=1e-5)
            machine.fit(coordinates(data, data["rows"]), classes)
            asked = data["rows"][:20] + draw("", kinds, 20, lambda r: 0)["rows"]
            expected = machine.decision_function(coordinates(data, asked))
            cases.append({"table": data, "c": c, "gamma": gamma, "asked": asked,
                          "expected": [float(e) for e in expected]})
    return cases


def record_trees():
    cases = []
    for name, kinds, count, rule in [
        ("together", [0, 0], 200, lambda r: float(r[0] * r[1] > 0)),
        ("mixed", [3, 0, 2, 0], 217, lambda r: logistic(3 * r[1] * (r[0] - 1) + r[2])),
        ("rare", [0, 0, 2], 250, lambda r: logistic(3 * r[0] - 4)),
    ]:
        # Few values, so that no cut lies between two that a part of the examples does not have: there theirs is not halfway.
        data = draw(name, kinds, count, rule, 0)
        rows, classes = np.array(data["rows"]), np.array(data["classes"])
        share = classes.mean()
        trees = HistGradientBoostingClassifier(
            learning_rate=0.1, max_iter=200, max_leaf_nodes=None, max_depth=2,
            min_samples_leaf=20, l2_regularization=1.0, early_stopping=False)
        trees.fit(rows, classes, sample_weight=np.where(classes == 1, 0.5 / share, 0.5 / (1 - share)))
        asked = data["rows"][:20] + draw("", kinds, 20, lambda r: 0, 0)["rows"]
        cases.append({"table": data, "asked": asked,
                      "expected": [float(p) for p in trees.predict_proba(np.array(asked))[:, 1]]})
    return cases


def compact(value):
    """Whole numbers without a point, others with all their digits."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: compact(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [compact(part) for part in value]
    return value


def write(name, cases):
    with open(name, "w", encoding="utf-8") as file:
        lines = [json.dumps(compact(case), separators=(",", ":")) for case in cases]
        file.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    assert Orange.__version__.startswith("3.40")
    write("bayes.json", record_bayes())
    write("cn2.json", record_cn2())
    write("svm.json", record_svm())
    write("trees.json", record_trees())
