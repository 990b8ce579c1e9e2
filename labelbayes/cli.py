"""The command line: a report on the demo data or on the user's file."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from labelbayes.data.evaluation_set import EvaluationSet
from labelbayes.data.examples import load_breast_cancer_scores
from labelbayes.data.masking import mask_mnar
from labelbayes.data.read import read_evaluation
from labelbayes.report.build import Report, build_report, installed_version
from labelbayes.report.write import check_directory, write_report
from labelbayes.results.sentences import TARGETS

#: Names that sentences of the library use -> what they are called here.
_OPTIONS = {
    "y_true": "--y-true",
    "y_score": "--y-score",
    "y_pred": "--y-pred",
    "threshold": "--threshold",
    "pos_label": "--pos-label",
    "missing": "--missing",
    "directory": "--output",
}
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
        self.exit(2, f"labelbayes: {_visible(sentence)}. See `{self.prog} --help`.\n")


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
        _drop_output()
        return _BROKEN_PIPE


def _drop_output() -> None:
    """Send what is not yet printed nowhere; else Python complains when it flushes at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
        "--target",
        choices=TARGETS,
        default="sample",
        help="metrics of these rows, or of rows drawn like these (default: sample)",
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


def _demo(options: argparse.Namespace) -> int:
    _checked(lambda: check_directory(options.output))
    truth = load_breast_cancer_scores()
    prevalence = float(truth.y_true.mean())
    evaluation = mask_mnar(truth, _DEMO_RATE, prevalence / 2, rng=options.seed)
    report = build_report(
        evaluation,
        truth=truth,
        bayes=options.bayes,
        title="Demo: breast cancer diagnoses, 30% of the labels hidden",
        rng=options.seed,
    )
    about = (
        f"{truth.n} breast masses (scikit-learn), scored by a logistic regression that never saw "
        f"the row.\n30% of the labels are hidden, not at random: of the hidden ones "
        f"{prevalence / 2:.1%} are positive, of all {prevalence:.1%}.\nThe truth is in the last "
        "row; no rung was shown it."
    )
    return _deliver(report, options.output, about)


def _report(options: argparse.Namespace) -> int:
    if options.y_score is None and options.y_pred is None:
        raise _BadInput("Pass --y-score or --y-pred: there is nothing to evaluate without one.")
    _checked(lambda: check_directory(options.output))
    evaluation: EvaluationSet = _checked(
        lambda: read_evaluation(
            options.file,
            y_true=options.y_true,
            y_score=options.y_score,
            y_pred=options.y_pred,
            threshold=options.threshold,
            pos_label=options.pos_label,
            missing=options.missing,
        )
    )
    name = _visible(Path(options.file).name)
    report = build_report(
        evaluation,
        target=options.target,
        title=f"{name}: metrics with missing labels",
        rng=options.seed,
    )
    return _deliver(report, options.output, "")


def _deliver(report: Report, output: str, about: str) -> int:
    """Write, then print: a reader that stops reading early does not cost the files."""
    files = _checked(lambda: write_report(report, output))
    lines = [about, ""] if about else []
    lines += [repr(report), "", *(f"Wrote {_visible(str(path))}" for path in files.values())]
    try:
        _print("\n".join(lines))
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        return _complain_of_output(output, error.strerror or str(error))
    return 0 if sys.stdout else _complain_of_output(output, "it is closed")


def _print(text: str) -> None:
    if sys.stdout is None:  # closed before the program began
        return
    # A terminal that knows few characters gets the others spelled out.
    encoding = sys.stdout.encoding or "utf-8"
    shown = "\n".join(_visible(line) for line in text.split("\n"))
    print(shown.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def _complain_of_output(output: str, reason: str) -> int:
    print(
        f"labelbayes: The report was written to {_visible(output)} and could not be printed to "
        f"standard output: {reason}.",
        file=sys.stderr,
    )
    return _NOT_PRINTED


def _visible(text: str) -> str:
    """Spell out what a terminal would obey instead of show: control characters and the like."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def _checked(step: Callable[[], Answer]) -> Answer:
    """Run a step that reads or writes what the user named; what is wrong becomes a sentence."""
    try:
        return step()
    except (ValueError, TypeError, OSError) as error:
        raise _BadInput(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename} cannot be used: {error.strerror}."
    text = re.sub(r"`(\w+)(=[^`]+)?`", _as_option, text)
    return _visible(" ".join(text.splitlines()))


def _as_option(match: re.Match[str]) -> str:
    name, value = match[1], match[2] or ""
    if name not in _OPTIONS:
        return match[0]
    return f"`{_OPTIONS[name]}{value.replace('=', ' ', 1)}`"
