"""Arguments of the training programs that train a model per fold by a recipe."""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Recipe = TypeVar("Recipe", bound="DataclassInstance")


def recipe_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser of data, weights, output folder, folds and settings of the recipe."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folds", default="0,1,2,3,4,all", help="which folds to leave out, by turns")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    return parser


def parse_recipe(settings: list[str], default: Recipe) -> Recipe:
    """The recipe with the settings, each `NAME=VALUE`; prints it, so that the run's log has it."""
    values: dict[str, Any] = {
        name: type(getattr(default, name))(value)
        for name, value in (setting.split("=", 1) for setting in settings)
    }
    recipe = replace(default, **values)
    print(json.dumps(asdict(recipe)), flush=True)  # noqa: T201
    return recipe
