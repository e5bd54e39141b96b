"""Models of trees that explainers take, as trees of the extension."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ._core import ModelCore

#: The index that marks a leaf.
_LEAF = 2**32 - 1

#: The largest 32-bit float: a threshold that all numbers pass.
_MOST = float(np.finfo(np.float32).max)

#: What LightGBM takes for zero.
_ZERO = 1e-35


def _float32(X: Any) -> NDArray[np.float32]:
    return np.ascontiguousarray(X, np.float32)


@dataclass
class Trees:
    """Trees that are added up; or one sum of terms."""

    width: int
    outputs: int
    #: Each with the output that it adds to; none for all of them.
    parts: list[tuple[ModelCore, int | None]]
    #: What comes on top, a number for each output.
    offset: NDArray[np.float64]
    names: list[str] | None = None
    #: Whether it is trees of one value per leaf.
    is_plain: bool = True
    #: What the trees see of rows.
    encode: Callable[[Any], NDArray[np.float32]] = field(default=_float32)

    def rows(self, X: Any, what: str = "X") -> NDArray[np.float32]:
        """What the trees see of rows, checked for their shape."""
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != self.width:
            raise ValueError(f"{what} has the shape {shape}; wanted are (rows, {self.width})")
        return self.encode(X)


@dataclass
class _Nodes:
    """A tree of somebody else's, in any order, node 0 first; children are -1 at leaves."""

    feature: list[int] = field(default_factory=list[int])
    #: Rows at most so large go left.
    threshold: list[float] = field(default_factory=list[float])
    left: list[int] = field(default_factory=list[int])
    right: list[int] = field(default_factory=list[int])
    default_left: list[bool] = field(default_factory=list[bool])
    #: A list of numbers for each node.
    value: list[list[float]] = field(default_factory=list[list[float]])
    weight: list[float] = field(default_factory=list[float])

    def core(self, width: int) -> ModelCore:
        """It as a tree of the extension: parents before their children, thresholds as the largest 32-bit floats that are not above."""
        order: list[int] = []
        todo = [0]
        while todo:
            node = todo.pop()
            order.append(node)
            if self.left[node] >= 0:
                todo += [self.right[node], self.left[node]]
        place = {node: i for i, node in enumerate(order)} | {-1: _LEAF}
        inner = [self.left[node] >= 0 for node in order]
        exact = np.clip([self.threshold[node] if i else 0.0 for node, i in zip(order, inner, strict=True)], -_MOST, _MOST)
        threshold = exact.astype(np.float32)
        threshold = np.where(threshold > exact, np.nextafter(threshold, np.float32(-np.inf)), threshold)
        value = [self.value[node] for node in order]
        model = {
            "type": "tree",
            "operator": "<=",
            "feature": [self.feature[node] if i else 0 for node, i in zip(order, inner, strict=True)],
            "threshold": threshold.tolist(),
            "left": [place[self.left[node]] for node in order],
            "right": [place[self.right[node]] for node in order],
            "default_left": [bool(self.default_left[node]) for node in order],
            "outputs": len(value[0]),
            "value": [number for numbers in value for number in numbers],
            "impurity": [0.0] * len(order),
            "n_samples": [0] * len(order),
            "weight": [self.weight[node] for node in order],
        }
        return ModelCore(json.dumps(model), width)


#: Classes of scikit-learn that average the trees in ``estimators_``.
_FOREST = {"ForestClassifier", "ForestRegressor"}


def _classes(model: Any) -> set[str]:
    """Names of a model's class and of those that it extends."""
    return {kind.__name__ for kind in type(model).__mro__}


def trees_of(model: Any) -> Trees:
    """The trees of a model: ours, scikit-learn's, LightGBM's, XGBoost's, or the JSON of the last two."""
    if isinstance(getattr(model, "tree_", None), ModelCore) or isinstance(getattr(model, "model_", None), ModelCore):
        return _ours(model)
    if (_FOREST | {"BaseDecisionTree"}) & _classes(model) and hasattr(model, "n_outputs_"):
        return _sklearn(model)
    if hasattr(model, "get_booster"):
        booster, missing = model.get_booster(), model.missing
        # Where training stopped early, these models predict by the trees up to the best one.
        best = booster.attr("best_iteration")
        booster = booster if best is None else booster[: int(best) + 1]
        return _xgboost(json.loads(booster.save_raw("json")), math.nan if missing is None else missing)
    if hasattr(model, "save_raw"):
        return _xgboost(json.loads(model.save_raw("json")))
    # LightGBM's models with scikit-learn's conventions hold a booster.
    booster = getattr(model, "booster_", model)
    if hasattr(booster, "dump_model"):
        return _lightgbm(booster.dump_model())
    read: Any = json.loads(Path(model).read_text()) if isinstance(model, (str, Path)) else model
    told = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    if "tree_info" in told:
        return _lightgbm(told)
    if "learner" in told:
        return _xgboost(told)
    raise TypeError(
        f"no trees are known in {type(model).__name__}; wanted is a fitted tree or ChoiceModel of sched_distill.estimators, a tree or "
        "forest of scikit-learn, a model of LightGBM or XGBoost, or the JSON of one (dump_model(), save_model('model.json'))"
    )


def _ours(model: Any) -> Trees:
    core: ModelCore = model.tree_ if hasattr(model, "tree_") else model.model_
    told = json.loads(core.json())
    outputs = int(told.get("outputs", 1))
    return Trees(
        width=model.n_features_in_,
        outputs=outputs,
        parts=[(core, None)],
        offset=np.zeros(outputs, np.float64),
        names=_names_of(model),
        is_plain=told["type"] == "tree" and told.get("linear") is None,
    )


def _names_of(model: Any) -> list[str] | None:
    known: Any = getattr(model, "feature_names_in_", None)
    return None if known is None else [str(name) for name in known]


def _sklearn(model: Any) -> Trees:
    """Trees, and forests as their means."""
    members: list[Any] = list(model.estimators_) if _FOREST & _classes(model) else [model]
    classifies = hasattr(model, "classes_")
    if classifies and model.n_outputs_ > 1:
        raise ValueError("classifiers of several outputs are not explained: fit one for each")

    def part(member: Any) -> ModelCore:
        tree = member.tree_
        value = tree.value[:, 0, :] if classifies else tree.value[:, :, 0]
        return _Nodes(
            tree.feature.tolist(),
            tree.threshold.tolist(),
            tree.children_left.tolist(),
            tree.children_right.tolist(),
            tree.missing_go_to_left.astype(bool).tolist(),
            (value / len(members)).tolist(),
            tree.weighted_n_node_samples.tolist(),
        ).core(model.n_features_in_)

    outputs = len(model.classes_) if classifies else int(model.n_outputs_)
    return Trees(
        width=int(model.n_features_in_),
        outputs=outputs,
        parts=[(part(member), None) for member in members],
        offset=np.zeros(outputs, np.float64),
        names=_names_of(model),
    )


def _lightgbm(dump: Mapping[str, Any]) -> Trees:
    """LightGBM compares 64-bit floats. So the trees see the place of a value among the thresholds of its feature: it is the same side."""
    width, outputs = int(dump["max_feature_idx"]) + 1, int(dump["num_tree_per_iteration"])
    trees = [_lightgbm_nodes(info["tree_structure"]) for info in dump["tree_info"]]
    thresholds: list[set[float]] = [set() for _ in range(width)]
    kinds: list[set[str]] = [set() for _ in range(width)]
    for nodes, missing in trees:
        for node, kind in missing.items():
            thresholds[nodes.feature[node]].add(nodes.threshold[node])
            kinds[nodes.feature[node]].add(kind)
    for feature, found in enumerate(kinds):
        if len(found) > 1:
            raise ValueError(f"feature {feature} has missing values of different kinds, {sorted(found)}: one kind is explained")
    edges = [np.array(sorted(found)) for found in thresholds]
    place = [{threshold: i for i, threshold in enumerate(found.tolist())} for found in edges]
    share = outputs / max(len(trees), 1) if dump.get("average_output") else 1.0
    parts: list[tuple[ModelCore, int | None]] = []
    for i, (nodes, missing) in enumerate(trees):
        for node in missing:
            nodes.threshold[node] = place[nodes.feature[node]][nodes.threshold[node]]
        nodes.value = [[share * number for number in numbers] for numbers in nodes.value]
        parts.append((nodes.core(width), i % outputs))

    def encode(X: Any) -> NDArray[np.float32]:
        columns = np.asarray(X, np.float64)
        coded = np.zeros(columns.shape, np.float32)
        for feature in range(width):
            if not kinds[feature]:
                continue
            (kind,), column = kinds[feature], columns[:, feature]
            is_missing = np.isnan(column)
            if kind == "None":
                column, is_missing = np.where(is_missing, 0.0, column), np.zeros(len(column), bool)
            elif kind == "Zero":
                is_missing = is_missing | (np.abs(column) <= _ZERO)
            coded[:, feature] = np.where(is_missing, np.nan, np.searchsorted(edges[feature], column))
        return coded

    return Trees(width, outputs, parts, np.zeros(outputs, np.float64), list(dump["feature_names"]), encode=encode)


def _lightgbm_nodes(root: Mapping[str, Any]) -> tuple[_Nodes, dict[int, str]]:
    """The nodes of a tree, and what is missing for each test."""
    nodes, missing = _Nodes(), dict[int, str]()
    # Nodes still to be read, with the list that holds their place and where in it.
    todo: list[tuple[Mapping[str, Any], list[int] | None, int]] = [(root, None, 0)]
    while todo:
        told, parents, parent = todo.pop()
        node = len(nodes.feature)
        if parents is not None:
            parents[parent] = node
        is_leaf = "leaf_value" in told
        if "leaf_coeff" in told:
            raise ValueError("trees of linear leaves (linear_tree) are not explained")
        if not is_leaf and told["decision_type"] != "<=":
            raise ValueError(f"feature {told['split_feature']} is a category: splits by categories are not explained")
        nodes.feature.append(0 if is_leaf else told["split_feature"])
        nodes.threshold.append(0.0 if is_leaf else told["threshold"])
        nodes.left.append(-1)
        nodes.right.append(-1)
        nodes.default_left.append(not is_leaf and told["default_left"])
        nodes.value.append([told["leaf_value"] if is_leaf else 0.0])
        nodes.weight.append(told.get("leaf_count", 1) if is_leaf else told["internal_count"])
        if not is_leaf:
            missing[node] = told["missing_type"]
            todo += [(told["right_child"], nodes.right, node), (told["left_child"], nodes.left, node)]
    return nodes, missing


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))


#: What an objective does to the base score before trees are added to it.
_LINKS: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("binary:logistic", "binary:logitraw", "reg:logistic"), _logit),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), math.log),
}


def _xgboost(model: Mapping[str, Any], missing: float = math.nan) -> Trees:
    """XGBoost compares 32-bit floats, and goes left where a value is below the condition."""
    learner = model["learner"]
    params, booster = learner["learner_model_param"], learner["gradient_booster"]
    drop: list[float] | None = None
    if booster["name"] == "dart":
        booster, drop = booster["gbtree"], booster["weight_drop"]
    if "trees" not in booster.get("model", {}):
        raise ValueError(f"a booster of the kind {learner['gradient_booster']['name']} has no trees")
    width = int(params["num_feature"])
    outputs = max(1, int(params["num_class"]), int(params.get("num_target", 1)))
    parts: list[tuple[ModelCore, int | None]] = []
    for i, (tree, output) in enumerate(zip(booster["model"]["trees"], booster["model"]["tree_info"], strict=True)):
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise ValueError("trees of several targets (multi_strategy='multi_output_tree') are not explained")
        if any(tree.get("split_type", ())):
            raise ValueError("splits by categories are not explained")
        conditions = np.array(tree["split_conditions"], np.float32)
        factor = 1.0 if drop is None else drop[i]
        nodes = _Nodes(
            tree["split_indices"],
            np.nextafter(conditions, np.float32(-np.inf)).tolist(),
            tree["left_children"],
            tree["right_children"],
            tree["default_left"],
            [[factor * float(value)] for value in conditions],
            tree["sum_hessian"],
        )
        parts.append((nodes.core(width), output))
    base = np.array([float(part) for part in str(params["base_score"]).strip("[]").split(",")])
    link = _LINKS.get(learner["objective"]["name"])
    offset = np.broadcast_to(base if link is None else [link(part) for part in base], outputs).astype(np.float64)

    def encode(X: Any) -> NDArray[np.float32]:
        rows = np.ascontiguousarray(X, np.float32)
        return rows if math.isnan(missing) else np.where(rows == np.float32(missing), np.float32(np.nan), rows)

    return Trees(width, outputs, parts, offset, learner.get("feature_names") or None, encode=encode)
