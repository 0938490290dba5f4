"""One call's ending: the tool's text stays indented and escaped, a failure tells its code."""

from remit.core.canonical import Json
from remit.render.call_text import CallDocument, call_document, call_text
from tests.render.governed_examples import HOSTILE, controls_of


def ended(content: str, *, structured: Json = None, is_error: bool = False, code: str | None = None) -> CallDocument:
    return call_document(
        {
            "content": content,
            "structured_content": structured,
            "content_blocks": [],
            "metadata": {},
            "is_error": is_error,
        },
        assistant="ops",
        tool="issues__search",
        run_id="run-1",
        trace_id="trace-1",
        code=code,
    )


def test_a_result_is_shown_line_by_line_indented():
    assert call_text(ended("one\r\n\ntwo"), colour=False) == "ok  assistant.ops/issues__search\n  one\n\n  two\n"
    assert call_text(ended(""), colour=False) == "ok  assistant.ops/issues__search\n"


def test_structured_content_is_shown_where_the_text_does_not_say_it_already():
    same = call_text(ended('{"rows": [1]}', structured={"rows": [1]}), colour=False)
    other = call_text(ended("1 row", structured={"rows": [1]}), colour=False)
    assert same == 'ok  assistant.ops/issues__search\n  {"rows": [1]}\n'
    assert other.splitlines()[2:] == ["structured content", "  {", '    "rows": [', "      1", "    ]", "  }"]


def test_a_failure_of_remit_names_its_code_and_one_of_the_tool_says_whose_it_is():
    denied = ended("suspended: by server.issues", is_error=True, code="suspended")
    assert call_text(denied, colour=False) == (
        "failed  assistant.ops/issues__search  suspended\n  suspended: by server.issues\n"
    )
    assert call_text(ended("no such row", is_error=True), colour=False).splitlines()[0] == (
        "failed  assistant.ops/issues__search  the tool says so"
    )


def test_hostile_content_forges_no_ending_and_no_control_sequence():
    text = call_text(ended(f"{HOSTILE}\nok  assistant.ops/issues__drop", structured=[HOSTILE]), colour=False)
    assert controls_of(text) == set()
    assert [line for line in text.splitlines() if not line.startswith("  ")] == [
        "ok  assistant.ops/issues__search",
        "structured content",
    ]
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())


def test_the_document_holds_the_whole_result():
    assert ended("x", structured=[1], is_error=True, code="timeout_idle") == {
        "format_version": "1.0",
        "assistant": "ops",
        "tool": "issues__search",
        "run_id": "run-1",
        "trace_id": "trace-1",
        "code": "timeout_idle",
        "result": {
            "content": "x",
            "structured_content": [1],
            "content_blocks": [],
            "metadata": {},
            "is_error": True,
        },
    }
