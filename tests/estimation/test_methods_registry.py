"""A fourth method is one new file in the methods folder."""

import json
import subprocess
import sys
import textwrap

import pytest
from sklearn.exceptions import NotFittedError

from studies.estimation.errors import EstimationError
from studies.estimation.methods import Method, method_class, method_classes
from tests.estimation.facts import ROOT
from tests.estimation.world import rules, targets

FOURTH = '''
from studies.estimation.labels import Label
from studies.estimation.methods.base import Method, Prediction, key_in


class AlwaysLabel(Method):
    """Predict one label that the protocol names."""

    name = "always_label"
    order = 15
    protocol_key = "always_label"

    def __init__(self, label):
        self.label = label

    @classmethod
    def read_rule(cls, protocol, offender):
        return {"label": key_in(protocol, "always_label", offender)}

    @classmethod
    def from_rules(cls, rules):
        return cls(Label(rules.require_fitting().methods[cls.name]["label"]))

    def fit(self, pool):
        return self

    def predict(self, targets):
        return [
            Prediction(target.configuration_id, self.name, self.label, budget)
            for target, budget in zip(targets, self.startup_budgets(targets))
        ]

    def fitted_parameters(self):
        return {"always_label": self.label.value}

    @classmethod
    def restore(cls, parameters, rules, pool):
        return cls(Label(parameters["always_label"]))
'''

USE = """
import json, sys
from studies.estimation import methods
methods.__path__.append(sys.argv[1])
from studies.estimation.panel import evaluate_panel
from studies.estimation.labels import SlotOutcome, resolve
from studies.estimation.study import fit_final, restore, retrospective
from tests.estimation.world import MARGIN, protocol_document, small_pool, targets
from studies.estimation.protocol import parse_rules

pool = small_pool()
plain = parse_rules(protocol_document())
rules = parse_rules(protocol_document(always_label="above_margin"))
final = fit_final(pool, rules, targets())
again = restore(final.model_record(), pool, rules)
slots = [SlotOutcome(seed, "completed", 39_000.0) for seed in rules.evaluation_seeds]
panel = {name: resolve(slots, MARGIN) for name in rules.target_configuration_ids}
scores = evaluate_panel(final.predictions, panel)["resolved_subset_metrics"]
print(json.dumps({
    "without": list(plain.require_fitting().methods),
    "with": list(rules.require_fitting().methods),
    "order": [item.method for item in final.predictions[:4]],
    "restored": again.predict(targets()) == final.predictions,
    "folds": sorted(retrospective(pool, rules)["folds"]["phi4"]["scores"]),
    "correct": scores["always_label"]["correct_three_state"],
}))
"""


def test_the_three_references_come_first_and_a_protocol_that_fits_needs_just_these():
    names = [method.name for method in method_classes()]
    assert names == ["donor_copy", "component_regression", "logistic", "two_phase", "exact_difference"]
    assert [method.name for method in method_classes() if method.required] == names[:3]


@pytest.mark.parametrize("name", [method.name for method in method_classes()])
def test_an_unfitted_method_says_so_like_any_other_estimator(name):
    method = method_class(name).from_rules(
        rules(two_phase={"quantile": 0.05}, exact_difference="measured_neighbours_with_exact_differences")
    )
    with pytest.raises(NotFittedError, match=f"{name} is not fitted"):
        method.predict(targets())
    with pytest.raises(NotFittedError):
        method.explain(targets()[0])


def test_what_a_method_leaves_abstract_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        Method()


def test_a_method_is_found_by_name():
    assert issubclass(method_class("logistic"), Method)
    with pytest.raises(EstimationError, match="methods: name is 'oracle', expected one of donor_copy"):
        method_class("oracle")


def test_a_fourth_method_is_one_new_file(tmp_path):
    """In a process of its own, because a found method stays found."""
    (tmp_path / "always_label.py").write_text(FOURTH)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(USE), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "without": ["donor_copy", "component_regression", "logistic"],
        "with": ["donor_copy", "always_label", "component_regression", "logistic"],
        "order": ["donor_copy", "always_label", "component_regression", "logistic"],
        "restored": True,
        "folds": ["always_label", "component_regression", "donor_copy", "logistic"],
        "correct": 2,
    }


def test_the_package_needs_neither_the_site_nor_a_heavy_import():
    code = (
        "import sys, studies.estimation, studies.estimation.protocol, studies.estimation.study\n"
        "print([name for name in ('django', 'sklearn', 'pandas', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
