from dataclasses import dataclass

import pytest

from contextune_lab.train.recipes import parse_recipe, recipe_parser


@dataclass(frozen=True)
class Recipe:
    epochs: int = 3
    rate: float = 1e-3
    pooling: str = "mean"


def test_settings_replace_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = recipe_parser("Train.").parse_args(
        ["data.json", "weights", "out", "--set", "epochs=5", "--set", "rate=0.5", "--folds", "0,all"]
    )
    recipe = parse_recipe(arguments.settings, Recipe())
    assert recipe == Recipe(epochs=5, rate=0.5)
    assert arguments.folds == "0,all"
    assert '"epochs": 5' in capsys.readouterr().out


def test_unknown_setting_is_refused() -> None:
    with pytest.raises(AttributeError, match="width"):
        parse_recipe(["width=5"], Recipe())
