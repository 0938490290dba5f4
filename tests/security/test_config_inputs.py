"""Inputs 1 to 12 of the catalogue: what mcp.yaml may not do to the one who reads it."""

import pytest

from tests.cli.workspace import Workspace, tool
from tests.security.hostile import CONFIG, codes, files_of, limited

ENTRY = "version: 1\nmcp:\n  servers:\n    - name: s\n      command: [x]\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{upper}: &{upper} [{', '.join([f'*{lower}'] * 9)}]\n" for lower, upper in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("version: 1\n" + BOMB, "yaml-anchor", id="01 alias bomb"),
        pytest.param("version: 1\nowner: " + "x" * 10_000_000 + "\n", "config-too-large", id="05 scalar of 10 MB"),
        pytest.param("version: 1\nowner: " + "x" * 8_000_000 + "\n", "too-long", id="05 scalar below the cap"),
        pytest.param("version: 1\nowner: " + "[" * 5_000 + "]" * 5_000 + "\n", "yaml-too-deep", id="06 nesting"),
        pytest.param("version: 1\nowner: " + "{a: " * 5_000 + "\n", "yaml-too-deep", id="06 open nesting"),
        pytest.param(ENTRY + "      timeout_seconds: " + "9" * 5_000 + "\n", "out-of-range", id="07 5,000 digits"),
    ],
)
def test_input_01_05_06_07_a_file_made_to_be_heavy_is_refused_under_a_memory_limit(
    here: Workspace, text: str, code: str
):
    (here.folder / "mcp.yaml").write_text(text, "utf-8")
    before = files_of(here)
    ended = limited(here, "validate", "--format", "json", seconds=15)
    assert (ended.code, code in dict(codes(ended)), len(ended.out) < 1_000_000) == (1, True, True)
    assert limited(here, "plan", seconds=15).code == 1
    assert files_of(here) == before


def test_input_02_a_tag_constructs_nothing(here: Workspace):
    marker = here.folder / "run-by-yaml"
    for tag in (f"!!python/object/apply:os.mkdir ['{marker}']", "!!python/name:os.system", "!!set {a}", "!x y"):
        (here.folder / "mcp.yaml").write_text(f"version: 1\nowner: {tag}\n", "utf-8")
        ended = here.run("validate", "--format", "json")
        assert ("yaml-tag", 2) in codes(ended), tag
    assert not marker.exists()


def test_input_03_a_key_twice_names_both_lines_and_takes_neither(here: Workspace):
    here.serve("issues", tool("search"), tool("close"))
    here.write(CONFIG.replace("      envelope: {", "      envelope: {surface: human_controlled}\n      envelope: {"))
    ended, plan = here.run("validate"), here.run("plan")
    assert (ended.code, plan.code, plan.out) == (1, 1, "")
    assert "`envelope` is given twice, in line 7 and in line 8" in ended.err + ended.out
    assert list(files_of(here)) == ["issues.json", "mcp.yaml"]


def test_input_04_a_merge_key_brings_no_policy_along(here: Workspace):
    here.write(CONFIG.replace("envelope: {", "envelope: {<<: {surface: open}, "))
    ended = here.run("validate", "--format", "json")
    assert (ended.code, codes(ended)) == (1, [("yaml-merge-key", 7)])


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "..", "x" * 300, "a\\\\b", "a\u0000b"])
def test_input_08_a_name_is_no_path(here: Workspace, name: str):
    text = f'version: 1\nmcp: {{servers: [{{name: "{name}", namespace: s, command: [x]}}]}}\n'
    (here.folder / "mcp.yaml").write_text(text, "utf-8")
    ended = here.run("validate", "--format", "json")
    assert ended.code == 1
    assert codes(ended)[0][0] in ("invalid-name", "config-encoding")


def test_input_08_a_file_reference_leads_nowhere_outside_also_through_a_link(here: Workspace):
    outside = here.folder.parent / "outside-secret"
    outside.write_text("dummy-secret-value", "utf-8")
    (here.folder / "link").symlink_to(outside)
    here.serve("issues", tool("search"), tool("close"), methods=str(here.folder / "methods"))
    for path in ("../outside-secret", str(outside), "link", "mcp.d/../../outside-secret"):
        here.write(CONFIG.replace("      envelope:", f'      env: {{A: "${{file:{path}}}"}}\n      envelope:'))
        ended = here.run("plan")
        assert (ended.code, "secret_unresolved" in ended.out, "dummy-secret" in ended.out + ended.err) == (
            4,
            True,
            False,
        )
    assert not (here.folder / "methods").exists()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("envelop: {surface: human_controlled}", "unknown-key"),
        ("Envelope: {surface: human_controlled}", "unknown-key"),
        ("envelope: {Surface: human_controlled}", "unknown-key"),
        ("envelope: {surface: Human_Controlled}", "wrong-value"),
        ('envelope: {side_effecting: "false"}', "wrong-type"),
        ("envelope: {reversible: yes}", "wrong-type"),
        ("envelope: {side_effecting: 0}", "wrong-type"),
        ("envelope: null", "wrong-type"),
    ],
)
def test_input_09_a_policy_that_is_misspelt_is_an_error_and_never_the_looser_one(
    here: Workspace, wrong: str, code: str
):
    here.write(CONFIG.replace("envelope: {surface: locked, side_effecting: false}", wrong))
    before = files_of(here)
    ended, apply = here.run("validate", "--format", "json"), here.apply()
    assert (ended.code, codes(ended), apply.code) == (1, [(code, 7)], 1)
    assert files_of(here) == before


def test_input_10_a_policy_or_a_selection_of_nothing_is_told(here: Workspace):
    here.serve("issues", tool("search"), tool("close"))
    here.write(CONFIG.replace("      envelope:", "      tools: {serach: {surface: locked}}\n      envelope:"))
    plan = here.plan()
    assert [(each["code"], each["source"]["line"]) for each in plan.document["problems"]] == [("policy-unmatched", 7)]
    here.write(CONFIG.replace("server: issues", "server: isues"))
    ended = here.run("validate", "--format", "json")
    assert (ended.code, codes(ended)) == (1, [("unknown-server", 11)])
    here.write(CONFIG.replace("[search, close]", "[search, delete]"))
    plan = here.plan()
    assert (plan.code, [each["code"] for each in plan.document["problems"]]) == (4, ["tool-not-advertised"])
    assert here.apply().code == 4


@pytest.mark.parametrize("character", ["\u202e", "\u200b", "\U000e0041", "\u2066", "\u00ad", "\u2028"])
def test_input_12_a_character_that_hides_is_refused_in_the_file(here: Workspace, character: str):
    (here.folder / "mcp.yaml").write_text(ENTRY.replace("name: s", f"name: s{character}x"), "utf-8")
    ended = here.run("validate", "--format", "json")
    assert (ended.code, codes(ended)[0]) in [(1, ("unsafe-character", 4)), (1, ("config-encoding", 4))]
    text = here.run("validate")
    assert character not in text.out + text.err
