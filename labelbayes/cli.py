"""The command line: a report on the demo data or on the user's file."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
import pandas as pd

from labelbayes._checks import FloatArray
from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.examples import load_breast_cancer_scores
from labelbayes.data.masking import mask_mnar
from labelbayes.data.read import read_evaluation
from labelbayes.metrics.registry import DEFAULT_METRICS, METRICS, resolve_metrics
from labelbayes.report.build import Report, build_report, installed_version
from labelbayes.report.terminal import drop_output, print_text, visible
from labelbayes.report.write import check_directory, write_report
from labelbayes.results.sentences import TARGETS
from labelbayes.weighting.outcome import fit_outcome
from labelbayes.weighting.propensity import fit_propensity

#: Names that sentences of the library use -> what they are called here.
_OPTIONS = {
    "y_true": "--y-true",
    "y_score": "--y-score",
    "y_pred": "--y-pred",
    "threshold": "--threshold",
    "pos_label": "--pos-label",
    "missing": "--missing",
    "metrics": "--metrics",
    "group": "--group",
    "propensity": "--propensity",
    "outcome": "--outcome",
    "soft_labels": "--soft-label",
    "directory": "--output",
}
#: Options that name a column of probabilities, and what is to be passed instead of a usual mistake.
_PROBABILITIES = {
    "propensity": " Pass P(label seen), not the weight 1 / P.",
    "outcome": "",
    "soft_labels": "",
}
#: How far a probability may lie outside [0, 1] by round-off.
_ROUND_OFF = 1e-9
_ASK_FOR_BETA = (
    "Only positives are labeled. `--beta` adds the positive-unlabeled bounds: pass the share of "
    "positives among rows without a label, as a number or as LOW,HIGH. These labels cannot tell "
    "it: it comes from an audit, or from knowledge beside them."
)
_DEMO_RATE = 0.3
_INTERRUPTED = 130
_NOT_PRINTED = 1
#: Digits of a seed: more than any entropy of use, and far fewer than Python refuses to read.
_MAX_DIGITS = 50
#: What a shell reports for a program that a closed pipe ended.
_BROKEN_PIPE = 141

Answer = TypeVar("Answer")


class _BadInput(Exception):
    """What is wrong with what the user gave, as one sentence."""


class _Parser(argparse.ArgumentParser):
    """A parser that complains in one sentence, without the page of usage before it."""

    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:].rstrip(".")
        self.exit(2, f"labelbayes: {visible(sentence)}. See `{self.prog} --help`.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after the program's name; None takes those of this process.

    Returns
    -------
    int
        Exit status: 0, 1 if the report was written and could not be printed, 2 for input that
        cannot be used, 130 when interrupted.

    Raises
    ------
    SystemExit
        With status 2 if the words make no command, with 0 after ``--help`` and ``--version``.

    Examples
    --------
    >>> main(["report", "no_such_file.csv", "--y-true", "label", "--y-score", "score"])
    2
    """
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except _BadInput as error:
        print(f"labelbayes: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return _BROKEN_PIPE


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="labelbayes",
        description="What classifier metrics can be said to be when evaluation labels are missing.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"labelbayes {installed_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="a report on real data, 30%% of the labels hidden, with the truth beside it",
        description="Report on breast cancer diagnoses, 30% of the labels hidden not at random.",
        allow_abbrev=False,
    )
    demo.add_argument(
        "--bayes", action="store_true", help="the rungs sampled with PyMC too (a minute more)"
    )
    _add_common(demo, "labelbayes-demo")
    demo.set_defaults(run=_demo)
    report = commands.add_parser(
        "report",
        help="a report on your CSV or Parquet file",
        description="Report on a CSV or Parquet file, a row per evaluated item.",
        allow_abbrev=False,
    )
    report.add_argument("file", metavar="FILE", help="CSV, TSV or Parquet file")
    report.add_argument(
        "--y-true", required=True, metavar="COLUMN", help="labels; an empty cell is missing"
    )
    report.add_argument("--y-score", metavar="COLUMN", help="scores that rise with P(positive)")
    decided = report.add_mutually_exclusive_group()
    decided.add_argument("--y-pred", metavar="COLUMN", help="decisions, in the labels' words")
    decided.add_argument(
        "--threshold",
        type=float,
        default=0.5,
        help="predicted positive from this score on (default: 0.5)",
    )
    report.add_argument("--pos-label", metavar="LABEL", help="the positive label")
    report.add_argument(
        "--missing",
        action="append",
        metavar="LABEL",
        help="a label that says 'missing'; may be given more than once",
    )
    report.add_argument(
        "--metrics",
        type=lambda word: [name.strip() for name in word.split(",")],
        metavar="NAME,...",
        help=f"which of {', '.join(METRICS)} (default: {', '.join(DEFAULT_METRICS)}; without "
        "--y-score those that rank are left out)",
    )
    report.add_argument(
        "--target",
        choices=TARGETS,
        default="sample",
        help="metrics of these rows, or of rows drawn like these (default: sample)",
    )
    report.add_argument(
        "--group", metavar="COLUMN", help="groups: metrics of each, and differences between them"
    )
    report.add_argument(
        "--propensity", metavar="COLUMN", help="P(label seen) of each row: adds weighted estimates"
    )
    report.add_argument(
        "--outcome", metavar="COLUMN", help="P(positive) of each row by a model: adds its estimates"
    )
    report.add_argument(
        "--soft-label",
        dest="soft_labels",
        metavar="COLUMN",
        help="P(positive) of each row as raters see it: adds the optimum (target population)",
    )
    report.add_argument(
        "--beta",
        type=_beta,
        metavar="NUMBER|LOW,HIGH",
        help="share of positives among rows without a label: adds positive-unlabeled bounds",
    )
    _add_common(report, "labelbayes-report")
    report.set_defaults(run=_report)
    return parser


def _add_common(parser: argparse.ArgumentParser, output: str) -> None:
    parser.add_argument(
        "--output",
        default=output,
        metavar="DIRECTORY",
        help=f"where to write; an earlier report there is replaced (default: {output})",
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, help="seed of refits and draws (default: 0)"
    )


def _seed(word: str) -> int:
    if len(word) > _MAX_DIGITS:
        raise argparse.ArgumentTypeError(
            f"a seed has at most {_MAX_DIGITS} digits; got {len(word):,} characters"
        )
    if not re.fullmatch(r"[0-9]+", word):
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 on; got {word!r}")
    return int(word)


def _beta(word: str) -> float | tuple[float, float]:
    """Return a share, or the two ends of a range."""
    try:
        ends = [float(part) for part in word.split(",")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        raise argparse.ArgumentTypeError(
            f"a share is a number such as 0.2, or a range such as 0.1,0.3; got {word!r}"
        )
    if not all(0 <= end <= 1 for end in ends):
        raise argparse.ArgumentTypeError(f"a share lies in [0, 1]; got {word!r}")
    if len(ends) == 1:
        return ends[0]
    if ends[0] > ends[1]:
        raise argparse.ArgumentTypeError(f"a range names its lower end first; got {word!r}")
    return ends[0], ends[1]


def _demo(options: argparse.Namespace) -> int:
    _checked(lambda: check_directory(options.output))
    truth = load_breast_cancer_scores()
    prevalence = float(truth.y_true.mean())
    evaluation = mask_mnar(truth, _DEMO_RATE, prevalence / 2, rng=options.seed)
    score = pd.DataFrame({"score": evaluation.y_score})
    report = build_report(
        evaluation,
        truth=truth,
        propensity=fit_propensity(score, evaluation, rng=options.seed),
        outcome=fit_outcome(score, evaluation, rng=options.seed),
        bayes=options.bayes,
        title="Demo: breast cancer diagnoses, 30% of the labels hidden",
        rng=options.seed,
    )
    about = (
        f"{truth.n} breast masses (scikit-learn), scored by a logistic regression that never saw "
        f"the row.\n30% of the labels are hidden, not at random: of the hidden ones "
        f"{prevalence / 2:.1%} are positive, of all {prevalence:.1%}.\nP(label seen) and an "
        "outcome model were fitted on the score, for the weighted rungs.\nThe truth is in the last "
        "row; no rung was shown it."
    )
    return _deliver(report, options.output, about)


def _report(options: argparse.Namespace) -> int:
    if options.y_score is None and options.y_pred is None:
        raise _BadInput("Pass --y-score or --y-pred: there is nothing to evaluate without one.")
    _checked(lambda: check_directory(options.output))
    has_score = options.y_score is not None
    metrics = _checked(lambda: resolve_metrics(options.metrics, has_score=has_score))
    evaluation: EvaluationSet = _checked(
        lambda: read_evaluation(
            options.file,
            y_true=options.y_true,
            y_score=options.y_score,
            y_pred=options.y_pred,
            threshold=options.threshold,
            pos_label=options.pos_label,
            missing=options.missing,
            group=options.group,
        )
    )
    given = {name: _read_probabilities(options, name) for name in _PROBABILITIES}
    said = [note for _, notes in given.values() for note in notes if note not in evaluation.notes]
    counts = evaluation.counts
    only_positives = counts.tp + counts.fn > 0 and counts.fp + counts.tn == 0
    if only_positives and evaluation.n_unlabeled and options.beta is None:
        said.append(_ASK_FOR_BETA)
    name = visible(Path(options.file).name)
    report = build_report(
        evaluation.with_notes(tuple(said)),
        metrics=metrics,
        target=options.target,
        beta=options.beta,
        propensity=given["propensity"][0],
        outcome=given["outcome"][0],
        soft_labels=given["soft_labels"][0],
        title=f"{name}: metrics with missing labels",
        rng=options.seed,
    )
    return _deliver(report, options.output, "")


def _read_probabilities(
    options: argparse.Namespace, name: str
) -> tuple[FloatArray | None, list[str]]:
    """Return a column of probabilities, and how its cells were read; None if it is not asked for.

    The column is read as a score is: an empty cell is refused, percent signs are understood.
    """
    column: str | None = getattr(options, name)
    if column is None:
        return None, []
    option = _OPTIONS[name]
    read = _checked(
        lambda: read_evaluation(
            options.file,
            y_true=options.y_true,
            y_score=column,
            pos_label=options.pos_label,
            missing=options.missing,
        ),
        y_score=option,
    )
    assert read.y_score is not None  # it was named
    is_bad = (read.y_score < -_ROUND_OFF) | (read.y_score > 1 + _ROUND_OFF)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise _BadInput(
            f"`{option}` must name a column of probabilities in [0, 1]; {visible(column)!r} has "
            f"{read.y_score[row]:g} in row {row + 1:,} ({int(is_bad.sum()):,} such cells)."
            f"{_PROBABILITIES[name]}"
        )
    return read.y_score, [note for note in read.notes if f"column {column!r}: " in note]


def _deliver(report: Report, output: str, about: str) -> int:
    """Write, then print: a reader that stops reading early does not cost the files."""
    files = _checked(lambda: write_report(report, output))
    lines = [about, ""] if about else []
    lines += [repr(report), "", *(f"Wrote {visible(str(path))}" for path in files.values())]
    try:
        print_text("\n".join(lines))
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        return _complain_of_output(output, error.strerror or str(error))
    return 0 if sys.stdout else _complain_of_output(output, "it is closed")


def _complain_of_output(output: str, reason: str) -> int:
    print(
        f"labelbayes: The report was written to {visible(output)} and could not be printed to "
        f"standard output: {reason}.",
        file=sys.stderr,
    )
    return _NOT_PRINTED


def _checked(step: Callable[[], Answer], **others: str) -> Answer:
    """Run a step that reads or writes what the user named; what is wrong becomes a sentence.

    `others` are names that mean another option in this step.
    """
    try:
        return step()
    except (ValueError, TypeError, OSError) as error:
        raise _BadInput(_sentence(error, _OPTIONS | others)) from error


def _sentence(error: Exception, options: Mapping[str, str]) -> str:
    def as_option(match: re.Match[str]) -> str:
        name, value = match[1], match[2] or ""
        if name not in options:
            return match[0]
        return f"`{options[name]}{value.replace('=', ' ', 1)}`"

    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename} cannot be used: {error.strerror}."
    text = re.sub(r"`(\w+)(=[^`]+)?`", as_option, text)
    return visible(" ".join(text.splitlines()))
