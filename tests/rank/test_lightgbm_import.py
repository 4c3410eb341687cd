"""LightGBM is imported without pandas and scikit-learn, and stays whole for the program itself."""

import subprocess
import sys

CODE = """
import sys
from contextune.rank.lightgbm_import import import_lightgbm
assert import_lightgbm() is import_lightgbm()
assert not {"lightgbm", "matplotlib", "pandas", "sklearn"} & sys.modules.keys()
assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("contextune")]
sys.modules["lightgbm"] = sys  # stands for the whole library, which a program has imported
assert import_lightgbm() is sys
"""


def test_pandas_and_scikit_learn_are_not_imported() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
