"""Conditions and templates: Gobby's documented examples work, and the sandbox and its limits hold."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from looped_cases import for_each

from baton_git.core.errors import InvalidArgument
from baton_git.systems.gobby.rendering import check_condition, check_template, evaluate_condition, render

NAMES = {
    "event": {"data": {"reason": "clear", "response": "done: LOOP_COMPLETE"}},
    "variables": {"loop_enabled": True, "iteration_count": 3},
    "settings": {"completion_marker": "LOOP_COMPLETE", "max_iterations": 20},
    "todos": [{"content": "Test", "status": "in_progress"}, {"content": "Ship", "status": "completed"}],
    "text": "one\ntwo",
    "none": None,
}
THREE_LINES = """\
variables.get('loop_enabled', False) and
variables.get('iteration_count', 0) < settings.max_iterations and
not variables.get('task_complete', False)
"""
MARKER = "settings.completion_marker in (event.data.get('response', '') if event.data else '')"


@for_each(
    "text",
    [
        "",
        "event.data.get('reason') == 'clear'",
        f"variables.get('loop_enabled') and {MARKER}",
        THREE_LINES,
        "none is None and True is True and variables.get('x') is None",
        "len(todos) == 2 and str(3) == '3' and int('4') == 4 and bool(1)",
        "todos[0].status == 'in_progress' and event.data.reason.startswith('c')",
        "event.data.get('reason') in ('clear', 'other') and 'x' not in text",
    ],
)
def test_conditions_of_the_documents_are_evaluated(text):
    assert evaluate_condition(text, NAMES) is True


@for_each("text", ["event.data.get('reason') == 'x'", "None", "variables.get('nope')", "0", "todos == []"])
def test_a_condition_that_does_not_hold_is_false(text):
    assert evaluate_condition(text, NAMES) is False


@for_each(
    "text",
    [
        "nope", "nope.x", "nope.x == 1", "event.data.nope == 1", "1 +", "1 2", "none < 3", "1/0", "event.data.get(",
        "{{ 1 }}", "todos[9] == 1", "(" * 9000, "[" * 2000 + "]" * 2000, "'{:9}'.format(1)", "range(10**9)",
        "'a' * 10**9", "[0] * 10**8", "10 ** (10 ** 10) > 1", "'%9999999999d' % 1",
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_evaluated_is_an_error_and_not_false(text):
    with pytest.raises(InvalidArgument, match="the condition"):
        evaluate_condition(text, NAMES)


@for_each(
    "text",
    [
        "event.__class__", "''.__class__.__mro__[1].__subclasses__()", "todos.append(1)", "event.data.get.__self__",
        "condition.__globals__", "lipsum", "self._TemplateReference__context", "variables.update(x=1)", "text.format",
        "text.ljust(10**9)", "variables.pop('loop_enabled')", "dict", "namespace", "().__class__",
    ],
)  # fmt: skip
def test_nothing_beyond_plain_data_can_be_reached(text):
    with pytest.raises(InvalidArgument):
        evaluate_condition(f"{text} is not None and false or {text} == 1 or {text}()", NAMES)
    assert "<" not in _rendered("{{ " + text + " }}")


def _rendered(text):
    try:
        return render(text, NAMES)
    except InvalidArgument:
        return ""


def test_a_template_prints_with_the_loops_of_the_document():
    text = (
        "{% if todos %}\n### Work\n{% for todo in todos %}\n"
        "- [{{ 'x' if todo.status == 'completed' else '>' if todo.status == 'in_progress' else ' ' }}]"
        " {{ todo.content }}\n{% endfor %}\n{% endif %}\n{% if missing %}no{% endif %}{{ missing }}"
    )
    assert render(text, NAMES) == "### Work\n- [>] Test\n- [x] Ship\n"


def test_the_filters_quote_and_join_text():
    assert render("{{ text|quoted }}", NAMES) == "| one\n| two"
    assert render("{{ text|one_line }}", NAMES) == "one two"
    assert render("{{ todos|map(attribute='content')|join(', ') }}", NAMES) == "Test, Ship"
    assert render("{% for x in todos %}{{ loop.index }}{{ ',' if not loop.last }}{% endfor %}", NAMES) == "1,2"


def test_values_are_neither_escaped_nor_rendered_as_templates():
    assert render("{{ x }}", {"x": "<{{ 7 * 7 }}>"}) == "<{{ 7 * 7 }}>"


def test_rendered_text_is_cut_at_its_limit_with_a_note():
    made = render("{% for x in range(5000) %}ääääääää{% endfor %}", {}, limit=100)
    assert len(made.encode()) <= 100
    assert made.endswith("… (cut: the limit is 100 bytes)")


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'a' * 10**9 }}",
        "{{ [0] * 10**8 }}",
        "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3,
        "{% set x = 'a' * 1000 %}" + "{% set x = x ~ x %}" * 40,
        "{% set x = 'a' * 1000 %}" + "{% set x = x + x %}" * 40,
        "{% set x = ['a'] %}" + "{% set x = [x, x] %}" * 40 + "{{ x }}",
        "{% for a in range(9999) %}{% set z = ('b' * 20000)|sort %}{% endfor %}",
        "{% set z = ('b' * 2000000)|sort %}",
        "{% set z = ('b' * 2000000)|list %}",
        "{% set z = ('b' * 2000000)|unique|list %}",
        "{{ 1|round(30000000, 'ceil') }}",
        "{{ 1|round(-3000000000) }}",
        "{{ 1.5|round(3000000000, 'floor') }}",
        "{{ [1]|map('round', 30000000, 'ceil')|list }}",
        "{{ 1|round(2, 'up') }}",
        "{{ range(1000, 9999)|map('string')|map('join', 'x' * 600000)|list|length }}",
        "{{ (range(9000)|list)|select('in', [0] * 99000)|list|length }}",
        "{{ ('ab' * 4000)|list|map(attribute='0.' * 900000 ~ '0')|list|length }}",
        "{{ ('ab' * 4000)|list|sort(attribute='0.' * 900000 ~ '0')|length }}",
        "{% set x = 'a' * 1000000 %}{{ max(x, key=x.count) }}",
        "{% set x = 'a' * 1000000 %}{{ min(x, key=x.count) }}",
        "{% set x = 'a' * 900000 %}{{ x|trim('b' * 900000 ~ 'a') }}",
        "{% set x = 'a' * 900000 %}{{ x.strip('b' * 900000 ~ 'a') }}",
        "{% set x = 'a' * 1900000 %}{{ x.rfind('b' ~ 'a' * 900000) }}",
        "{% set x = 'a' * 1900000 %}{{ x.rsplit('b' ~ 'a' * 900000)|length }}",
        "{% set x = 'a' * 1900000 %}{{ x.rpartition('b' ~ 'a' * 900000)|length }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%1000000000d'|format(1) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ '1'.zfill(1000000000) }}",
        "{{ '1'.ljust(1000000000) }}",
        "{{ '1'.center(1000000000) }}",
        "{{ '\\t'.expandtabs(1000000000) }}",
        "{{ '1'|indent(1000000000) }}",
        "{{ 'a b'|wordwrap(1, wrapstring='x' * 1000000) }}",
        "{{ 'aa'|replace('a', 'b' * 2000000) }}",
        "{{ ('9' * 1000000)|int(0, 7) + 1 }}{{ 1 << 2 }}",
        "{{ int('9' * 1000000) }}",
        "{{ 2 ** 1000000000 }}",
        "{{ range(9)|batch(1000000000, 'x')|list }}",
        "{{ range(9)|slice(1000000000)|list }}",
        "{{ [1]|tojson(indent=1000000000) }}",
        "{{ 'a'|truncate(1, end='x' * 3000000) }}",
        "{% for a in range(9999) %}{% set z = 'b' * 2000000 %}{% endfor %}",
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set x %}{{ 1 }}{% endset %}",
        "{% include '/etc/passwd' %}",
        "{{ 'a'|center(10**9) }}",
        "{{ text.replace('o', 'oo') }}",
        "{{ " + "-" * 30000 + "1 }}",
        "{% for x in range(3) recursive %}{{ loop(range(3)) }}{% endfor %}",
        "{{ [[1]]|sum(start=[]) }}",
        "{% set x = 'a' * 1000000 %}{% for a in range(500) %}{{ (x, x)|join|length }}{% endfor %}",
    ],
)  # fmt: skip
def test_templates_have_limits_of_memory_and_time(text, monkeypatch):
    monkeypatch.setattr("baton_git.systems.gobby.rendering.sandbox.SECONDS", 0.3)
    begun = time.monotonic()
    with pytest.raises(InvalidArgument, match="the template"):
        render(text, NAMES)
    assert time.monotonic() - begun < 20  # baton promises that no operation of a template takes long


@for_each(
    ("text", "rendered"),
    [
        ("{{ 2.5|round }} {{ 1.234|round(2) }}", "2.0 1.23"),
        ("{{ 1.231|round(2, 'ceil') }} {{ 129|round(-1, 'floor') }}", "1.24 120.0"),
        ("{{ [1.26]|map('round', 1)|list }} {{ ' x '|trim }} {{ max(1, 3) }} {{ min([2, 1]) }}", "[1.3] x 3 1"),
        ("{{ todos|map(attribute='content')|sort }}", "['Ship', 'Test']"),
        ("{{ {'b': 1, 'a': 2}|dictsort }} {{ 'xx'|unique|list }}", "[('a', 2), ('b', 1)] ['x']"),
        ("{{ 'a/b'.rpartition('/') }} {{ 'xax'.strip('x') }}", "('a', '/', 'b') a"),
    ],
)
def test_filters_and_methods_do_what_they_do_in_jinja2(text, rendered):
    assert render(text, NAMES) == rendered


def test_syntax_errors_are_found_without_evaluation():
    check_condition("nope.x == 1")
    check_template("{{ nope }}")
    with pytest.raises(InvalidArgument, match="line 2"):
        check_template("a\n{% if %}")
    with pytest.raises(InvalidArgument):
        check_condition("a ==")


@for_each("source", ["compact", "startup", "", None, 3, ["compact"]])
@for_each("operator", ["== 'compact'", "!= 'compact'", "in ('compact', 'resume')", "not in ('compact', 'resume')"])
def test_conditions_of_the_shipped_workflow_give_the_same_result_with_and_without_jinja(source, operator):
    names = {"event": {"data": {} if source is None else {"source": source}}}
    text = f"event.data.get('source') {operator}"
    assert evaluate_condition(text, names) == evaluate_condition(f"({text})", names)


def test_conditions_of_the_shipped_workflow_do_not_load_jinja():
    text = "event.data.get('source') not in ('compact', 'resume')"
    code = (
        "import sys; from baton_git.systems.gobby.rendering import evaluate_condition;"
        f"print(evaluate_condition({text!r}, {{'event': {{'data': {{}}}}}}), 'jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True False\n"


def test_each_rendering_counts_its_steps_separately():
    text = "{% for a in range(4000) %}{{ a }}{% endfor %}"
    assert len({render(text, {}) for _ in range(8)}) == 1


def test_jinja_is_imported_only_for_rendering():
    modules = "baton_git.systems.gobby.workflow.engine, baton_git.systems.gobby.workflow.files"
    code = f"import sys, {modules}; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
