"""Callables as schedulers."""

from __future__ import annotations

import functools
import hashlib
import inspect
import marshal
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import CellType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import Choice, Question
from .scenarios import scenarios

#: What a policy may be: the spec of one of the program's (``"fair"``), a callable, a `Policy`, or a student.
PolicyLike = Any

Asked = Literal["choice", "batch", "tables"]
Answers = Literal["scores", "probabilities"]


class Policy:
    """A callable as a policy, kept under a name for as long as this object lives.

    ``function`` is asked about a `Choice` and answers with a number per candidate: a score, of which the softmax is the
    probability, or that probability itself (``answers="probabilities"``). ``None`` is no opinion: the first candidate
    is taken. With ``asked="batch"`` it gets all choices of a level of a question in one `Choice`, of which ``starts``
    says where each begins; with ``asked="tables"`` a `Question` in the tables of the scenario's contract, and answers
    with a dictionary of arrays (docs/foreign-policies.md).

    Features are handed over without a copy; answers are copied as 32-bit floats.

    A trace notes ``sha256``, the hash of what defines the callable: of its source where it is left out, which says nothing of
    weights that it has beside that.

    Episodes run side by side in threads, and the GIL lets one of them ask at a time. What a callable keeps from one
    question to the next must therefore be an episode's own: if it has a method ``fresh()``, every episode asks a copy
    that this makes, and if it has ``reset(seed)``, that is called before each.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        *,
        asked: Asked = "choice",
        answers: Answers = "scores",
        mode: Literal["greedy", "sample"] = "greedy",
        sha256: str | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a policy must be callable, got {type(function).__name__}")
        _one_of("answers", answers, "scores", "probabilities")
        _one_of("mode", mode, "greedy", "sample")
        self.function, self.asked, self.answers, self.mode = function, asked, answers, mode
        #: The name, with a number where another policy has it already.
        self.name = _core.keep_policy(
            _plain(name or _called(function)), function, asked, answers == "probabilities", sha256 or fingerprint(function)
        )
        self._forget = weakref.finalize(self, _core.forget_policy, self.name)

    @property
    def spec(self) -> str:
        """What the program calls it: ``python:NAME``."""
        return f"python:{self.name}" + (",mode=sample" if self.mode == "sample" else "")

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<Policy {self.spec}>"


def _one_of(what: str, word: str, *words: str) -> None:
    if word not in words:
        raise ValueError(f"{what} must be {' or '.join(words)}, got {word!r}")


def _plain(name: str) -> str:
    """A name that can stand in a spec."""
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in name) or "policy"


def _called(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "policy" if name == "<lambda>" else name


def fingerprint(function: Callable[..., Any]) -> str:
    """SHA-256 of what defines a callable, as far as that can be told: its source, or else its compiled code or its type.

    Values that it takes from elsewhere count where they are plain ones: what is bound, defaults, numbers and words around it. A trace
    notes it, and a recording that is gone on with by another function of the same name is refused.
    """
    if isinstance(function, functools.partial):
        bound = f"{function.args!r} {sorted(function.keywords.items())!r} {fingerprint(function.func)}"
        return hashlib.sha256(bound.encode()).hexdigest()
    own: Any = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
    code = getattr(own, "__code__", None)
    try:
        text = inspect.getsource(own).encode()
    except (OSError, TypeError):
        text = marshal.dumps(code) if code is not None else repr(own).encode()
    around = [*(getattr(own, "__defaults__", None) or ()), *(_held(cell) for cell in getattr(own, "__closure__", None) or ())]
    plain = [value for value in around if isinstance(value, (bool, int, float, str))]
    return hashlib.sha256(text + repr(plain).encode()).hexdigest()


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


def named(policy: PolicyLike, kept: list[Policy]) -> str | os.PathLike[str]:
    """The spec of a policy. Those that are made for it are put into ``kept``, and live as long as that."""
    if isinstance(policy, Policy):
        return policy.spec
    as_policy: Callable[[], str] | None = getattr(policy, "__policy__", None)
    if as_policy is not None:
        return as_policy()
    if isinstance(policy, (str, os.PathLike)):
        return os.fspath(policy)
    if callable(policy):
        kept.append(Policy(policy))
        return kept[-1].spec
    raise TypeError(f"a policy is a spec, a callable, a Policy or a Student, not {type(policy).__name__}")


def _of_weights(modules: Iterable[Any]) -> str:
    """SHA-256 of what PyTorch modules have learnt."""
    digest = hashlib.sha256()
    for module in modules:
        for name, tensor in module.state_dict().items():
            digest.update(f"{name} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().double().numpy().tobytes())
    return digest.hexdigest()


def from_torch(
    module: Any,
    name: str | None = None,
    *,
    asked: Literal["choice", "batch"] = "batch",
    mode: Literal["greedy", "sample"] = "greedy",
) -> Policy:
    """A PyTorch module as a policy, or one for each level that is asked (a dictionary by level).

    A module takes a float32 tensor of shape ``(candidates, features)`` on the processor and gives a score per candidate. It is
    called without gradients, in evaluation mode. A module that compares candidates with each other wants ``asked="choice"``:
    otherwise it gets those of several choices at once.
    """
    import torch  # pyright: ignore[reportMissingImports]

    modules: Mapping[str, Any] | None = module if isinstance(module, Mapping) else None
    known = {level for scenario in scenarios().values() for level in scenario.levels}
    if modules is not None and not set(modules) <= known:
        unknown = ", ".join(sorted(set(modules) - known))
        raise ValueError(f"no scenario has a level {unknown}; there are {', '.join(sorted(known))}")
    parts = list(modules.values()) if modules is not None else [module]
    for part in parts:
        part.eval()

    def score(choice: Choice) -> NDArray[np.float32] | None:
        asked = modules.get(choice.level) if modules is not None else module
        if asked is None:
            return None
        with torch.no_grad():
            scores: NDArray[np.float32] = asked(torch.from_numpy(choice.features)).reshape(-1).cpu().numpy()
        return scores

    name = name or type(module).__name__
    return Policy(score, name, asked=asked, mode=mode, sha256=_of_weights(parts))


def from_sb3(
    model: Any, name: str | None = None, *, mode: Literal["greedy", "sample"] = "greedy", safe: bool = True
) -> Policy:
    """A model of Stable-Baselines3 that was trained on an environment of this package, as a policy.

    Models with masks (``MaskablePPO``) and without are taken. What they are asked is what they saw as observations, which the
    mask is part of: ``safe`` is that of the environment.
    """
    from .envs import Observer

    observer = Observer(model.observation_space, safe=safe)
    # A model keeps its last distribution, and PyTorch lets the GIL go: episodes in other threads would change it.
    alone = threading.Lock()

    def logits_of(choice: Choice) -> NDArray[np.float32]:
        observation, mask = observer(choice)
        tensor, _ = model.policy.obs_to_tensor(observation)
        import torch  # pyright: ignore[reportMissingImports]

        with alone, torch.no_grad():
            try:
                distribution = model.policy.get_distribution(tensor, action_masks=mask)
            except TypeError:
                distribution = model.policy.get_distribution(tensor)
            logits: NDArray[np.float32] = distribution.distribution.logits.reshape(-1).cpu().numpy()
        return logits[: len(choice)]

    return Policy(logits_of, name or type(model).__name__, mode=mode, sha256=_of_weights([model.policy]))


__all__ = ["Choice", "Policy", "PolicyLike", "Question", "fingerprint", "from_sb3", "from_torch"]
