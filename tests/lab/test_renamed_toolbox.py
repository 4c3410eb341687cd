"""The bundled tools under other names can be translated back, and share no names with the original ones."""

import pytest

from contextune.plan import check_plan
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Plan
from contextune_lab.renamed_toolbox import VARIANTS, RenamedVariant, renamed_toolbox, renamed_toolboxes


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_calls_of_every_tool_are_translated_back(variant: RenamedVariant) -> None:
    catalogue = renamed_toolbox(variant)
    originals = {tool.id: tool for tool in bundled_toolbox()}
    seen: set[str] = set()
    for tool in catalogue.tools:
        arguments = {name: Argument(name) for name in tool.parameters["properties"]}
        call = catalogue.call(Plan(tool.id, arguments))
        original = originals[call.tool]
        seen.add(call.tool)
        assert catalogue.tool_id(tool.id) == original.id
        assert list(call.args) == list(original.parameters["properties"])
        names = catalogue.originals[tool.id].arguments
        required = [names[name] for name in tool.parameters["required"]]
        assert required == original.parameters["required"]
    assert seen == originals.keys()
    assert len({tool.id for tool in catalogue.tools}) == len(originals)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_no_name_and_no_description_is_kept(variant: RenamedVariant) -> None:
    originals = {tool.id: tool for tool in bundled_toolbox()}
    catalogue = renamed_toolbox(variant)
    for tool in catalogue.tools:
        original = originals[catalogue.tool_id(tool.id)]
        assert tool.name != original.name
        assert tool.app != original.app
        assert tool.description != original.description
        assert not tool.examples


def test_variants_differ_and_are_the_same_every_time() -> None:
    names = [frozenset(tool.id for tool in catalogue.tools) for catalogue in renamed_toolboxes()]
    assert len(set(names)) == len(VARIANTS)
    again = [frozenset(tool.id for tool in renamed_toolbox(variant).tools) for variant in VARIANTS]
    assert names == again


def test_a_renamed_call_passes_the_check_of_its_schema() -> None:
    catalogue = renamed_toolboxes()[0]
    tool = next(tool for tool in catalogue.tools if catalogue.tool_id(tool.id) == "Mail/send_email")
    names = {old: new for new, old in catalogue.originals[tool.id].arguments.items()}
    arguments = {names["recipient"]: Argument("a@b.example"), names["body"]: Argument("Hello")}
    plan = Plan(tool.id, arguments, name=tool.name)
    check_plan(plan, tool)
    assert catalogue.call(plan).args == {"recipient": "a@b.example", "body": "Hello"}
