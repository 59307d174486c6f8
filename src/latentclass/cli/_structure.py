"""`rules`, `groups` and `export`: what a model has found, for people and programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from latentclass.cli._app import CommandError, command
from latentclass.cli._console import console
from latentclass.cli._input import label_text, load_model
from latentclass.cli._output import (
    check_output,
    force_option,
    output_option,
    row_writer,
    write_text,
)
from latentclass.cli._sample import as_columns, find_label


def _part_with(path: str, attributes: tuple[str, ...], what: str, which: str) -> Any:
    """A model that has something to show: the one in the file, or the best of an average."""
    model, _ = load_model(path)
    for one in (model, getattr(model, "best_estimator_", None)):
        if any(hasattr(one, attribute) for attribute in attributes):
            if one is not model:
                console().say(f"This is the best member of the average: {type(one).__name__}.")
            return one
    raise CommandError(
        f"{path!r} ({type(model).__name__}) has no {what}. Fit one that does: {which}."
    )


def _show(columns: dict[str, Any], output: str | None) -> None:
    """Write a table as text for people, or to a file, or as JSON."""
    out = console()
    if output is not None or out.json:
        with row_writer(output, as_json=out.json and output is None) as write:
            write(columns)
        if output is not None:
            out.say(f"Written to {output!r}.")
            if out.json:
                out.show_json({"output": output})
        return
    lists = [[_number(cell) for cell in column] for column in columns.values()]
    out.show_table(list(columns), zip(*lists, strict=True), wrap=True)


def _number(cell: Any) -> Any:
    if isinstance(cell, float):
        return f"{cell:.3f}" if cell == cell else "-"
    return cell


@command
@click.argument("model", type=click.Path())
@output_option
@force_option
def rules(model: str, output: str | None, force: bool) -> None:
    """Show the rules of a model.

    Hierarchical naive Bayes (--model hnb) has them. One line for each state of each latent
    variable: the rule that holds for exactly the rows in this state, the number of training rows in
    it, and the share of each class among them. On the screen, a rule of more than 100 characters
    names the states of the latent variables below it, if it has some, such as L1 = 0, whose own
    rules stand above it; files and JSON write out rules of up to 300 characters.
    """
    check_output(output, force)
    found = _part_with(model, ("rules",), "rules", "--model hnb")
    from latentclass.hnb._reader import READABLE_LENGTH
    from latentclass.hnb._rules import EVERY_ROW

    out = console()
    on_screen = output is None and not out.json
    frame = found.rules(READABLE_LENGTH) if on_screen else found.rules()
    if not len(frame):
        out.say("The model has no latent variable, so it has no rules.")
    if on_screen:
        # a variable of one state stands for columns that say nothing
        frame = frame[frame["rule"] != EVERY_ROW]
        # the long one last, where it can go on in further lines
        frame = frame[[*frame.columns.drop("rule"), "rule"]]
    _show(as_columns(frame, list(frame.columns)), output)
    if on_screen and found.n_models == 1:
        alone = [name for name in found.selected_features_ if name in found.top_variables_]
        if alone:
            out.say(f"Used without a rule: {', '.join(map(str, alone))}.")


@command
@click.argument("model", type=click.Path())
@click.option("--class", "label", help="For latent trees: only the groups of this class.")
@click.option("--top", type=click.IntRange(1), default=3, show_default=True,
              help="For latent trees: columns to show for each latent variable.")  # fmt: skip
@output_option
@force_option
def groups(model: str, label: str | None, top: int, output: str | None, force: bool) -> None:
    """Show the groups that a model has found.

    Latent trees: the groups into which each latent variable splits the rows of a class, by the
    columns that tell them apart best (on the screen in words; files and JSON have a line for each
    level). Latent variable classifiers and mixtures: share, classes,
    means and categories of each component. Hierarchical naive Bayes: the columns that each latent
    variable joins.
    """
    check_output(output, force)
    which = tuple(SHOWN)
    found = _part_with(model, which, "groups", "--model latent-tree, lvc or hnb")
    show = next(SHOWN[name] for name in which if hasattr(found, name))
    columns = show(found, label, top)
    if not next(iter(columns.values())):
        console().say("The model has found no groups.")
    if set(columns.get("group", ())) == {0}:
        console().say(
            "No groups were found within a class: given the class, the columns look independent."
        )
    if set(columns.get("component", ())) == {0}:
        console().say(
            "The model has one component, so these are the values of all rows together. To see "
            "groups, fit it with --set n_components=2."
        )
    if show is _tree_groups and output is None and not console().json:
        columns = _tree_lines(found, columns)
    _show(columns, output)


def _tree_groups(model: Any, label: str | None, top: int) -> dict[str, Any]:
    from latentclass.reports._trees import bin_words

    frame = model.latent_groups(None if label is None else find_label(model, label), top=top)
    columns = as_columns(frame, list(frame.columns))
    bounds = {name: [f"{cut:.6g}" for cut in cuts] for name, cuts in model.cut_points_.items()}
    columns["level"] = [
        bin_words(bounds[name], level) if name in bounds else level
        for name, level in zip(columns["column"], columns["level"], strict=True)
    ]
    return columns


def _tree_lines(model: Any, columns: dict[str, Any]) -> dict[str, Any]:
    """One line for each group, with the levels that tell it apart in words."""
    import pandas as pd

    from latentclass.reports._trees import group_words

    keys = [name for name in ("class", "latent") if name in columns]
    names = [*keys, "group", "size", "known by"]
    lines: list[tuple[Any, ...]] = []
    for key, part in pd.DataFrame(columns).groupby(keys, sort=False):
        sizes = part.drop_duplicates("group").set_index("group")["size"].sort_index()
        marks: list[list[str]] = [[] for _ in sizes]
        for name, cells in part.groupby("column", sort=False):
            table = cells.pivot(index="group", columns="level", values="probability")
            levels = list(cells["level"].drop_duplicates())
            shares = table.reindex(columns=levels).sort_index().to_numpy()
            told = levels if name in model.cut_points_ else [f"is {level}" for level in levels]
            for group, words in enumerate(group_words(told, shares, sizes.to_numpy())):
                marks[group].append(f"{name} {words}")
        for (group, size), known in zip(sizes.items(), marks, strict=True):
            lines.append((*key, group, float(size), "; ".join(known)))
    return dict(zip(names, map(list, zip(*lines, strict=True)), strict=True)) if lines else columns


def _components(model: Any, label: str | None, top: int) -> dict[str, Any]:  # noqa: ARG001
    names = ("component", "share", "about", "value")
    found: dict[str, Any] = {name: [] for name in names}
    for line in _component_lines(model):
        for name, cell in zip(names, line, strict=True):
            found[name].append(cell)
    return found


def _component_lines(model: Any) -> Iterator[tuple[int, float, str, float]]:
    # the classifier has a name of its own for the shares, since it may average models too
    shares = getattr(model, "component_weights_", None)
    shares = model.weights_ if shares is None else shares
    schema = model.schema_
    numbers = [schema.columns[j].name for j in schema.continuous]
    categories = {column.name: column.categories for column in schema.columns}
    for k, share in enumerate(shares.tolist()):
        if hasattr(model, "class_shares_"):
            for label, value in zip(model.classes_.tolist(), model.class_shares_[k], strict=True):
                yield k, share, f"P(class {label_text(label)})", float(value)
        for name, mean in zip(numbers, model.means_[k], strict=True):
            yield k, share, f"mean of {name}", float(mean)
        for name, table in model.probabilities_.items():
            for category, value in zip(categories[name], table[k], strict=True):
                yield k, share, f"P({name} = {category})", float(value)


def _hierarchy(model: Any, label: str | None, top: int) -> dict[str, Any]:  # noqa: ARG001
    one = model.models_[0] if getattr(model, "n_models", 1) > 1 else model
    children = one.latent_children_
    tops = set(one.top_variables_)
    return {
        "latent": list(children),
        "states": [one.n_states_[name] for name in children],
        "joins": [" and ".join(pair) for pair in children.values()],
        "below_the_class": [name in tops for name in children],
    }


SHOWN: dict[str, Callable[[Any, str | None, int], dict[str, Any]]] = {
    "latent_groups": _tree_groups,
    "means_": _components,
    "latent_children_": _hierarchy,
}
"""How the groups of a model are shown, by what the model has."""


def _network(found: Any, path: str) -> str:
    numbers = [found.schema_.columns[j].name for j in found.schema_.continuous]
    if numbers and not hasattr(found, "cut_points_"):
        raise CommandError(
            f"{path!r} ({type(found).__name__}) has columns of numbers, such as {numbers[0]!r}, "
            "which BIF cannot hold. Fit a model that cuts them into bins: --model tan, ban, k2 or "
            "hnb."
        )
    return str(found.to_bif())


@command
@click.argument("model", type=click.Path())
@click.option("--bif", is_flag=True, required=True, help="As a Bayesian network in BIF.")
@click.option("--class", "label", help="For latent trees: the class whose tree is written.")
@click.option("--output", "-o", type=click.Path(), metavar="FILE",
              help="Where to write. Without it, to standard output.")  # fmt: skip
@force_option
def export(model: str, bif: bool, label: str | None, output: str | None, force: bool) -> None:  # noqa: ARG001
    """Write a model for other programs.

    It becomes a Bayesian network.

    TAN, BAN, K2, hierarchical naive Bayes and latent trees are such networks, with numbers cut into
    bins. So is naive Bayes without columns of numbers.
    """
    out = console()
    check_output(output, force, endings=())
    found = _part_with(
        model, ("to_bif",), "form as a discrete network",
        "--model naive-bayes, tan, ban, k2, hnb or latent-tree",
    )  # fmt: skip
    if hasattr(found, "latent_groups"):
        if label is None:
            names = ", ".join(map(label_text, found.classes_))
            raise CommandError(
                f"A latent tree has one network per class: give --class, of {names}."
            )
        text = found.to_bif(find_label(found, label))
    else:
        text = _network(found, model)
    if out.json:
        out.show_json({"bif": text} if output is None else {"output": output})
        if output is None:
            return
    write_text(output, text if text.endswith("\n") else f"{text}\n")
    if output is not None:
        out.say(f"Network written to {output!r}.")
