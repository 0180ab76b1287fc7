"""What a person types and reads at the command line: meant commands, completion, conversations, Markdown."""

from __future__ import annotations

import pytest

from bethink.cli.commands import make_parser, words_of
from bethink.cli.render import MarkdownLines
from tests.command_line import CommandLine


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("chatt",), "there is no command 'chatt'. Did you mean `bethink chat`?"),
        (("memory", "serach"), "`bethink memory search`"),
        (("memory", "list", "--limti", "3"), "unrecognized arguments: --limti 3. Did you mean `--limit`?"),
        (("xyzzy",), "there is no command 'xyzzy'\n"),
    ],
)
def test_a_command_that_is_nearly_right_is_named(
    plain: CommandLine, words: tuple[str, ...], meant: str
) -> None:
    ended = plain(*words)
    assert ended.code == 2
    assert meant in ended.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_all_commands_and_options(plain: CommandLine, shell: str) -> None:
    script = plain("completion", shell).out
    for path, below in words_of(make_parser()):
        assert f"'{path}'" in script
        assert " ".join(below) in script
    assert "CASES" not in script


ANSWER = """\
# The **plan**
Some *weak*, **strong** and `code`; 2 * 3 * 4 and snake_case_name.
- one [link](https://example.org/a)
  * two
> said
---
```python
x = "**not bold**"  # not a heading
```
| a | b |
1. first"""
SHOWN = """\
{bold:The plan}
Some {italic:weak}, {bold:strong} and {cyan:code}; 2 * 3 * 4 and snake_case_name.
• one link{dim: (https://example.org/a)}
  • two
{dim:│} said
{dim:────────────────────────────────────────}
{dim:```python}
{cyan:x = "**not bold**"  # not a heading}
{dim:```}
| a | b |
1. first"""


def test_markdown_is_shown_in_styles_and_code_as_it_is() -> None:
    lines = MarkdownLines(lambda text, style: f"{{{style}:{text}}}" if text else "")
    assert "\n".join(lines.line(line) for line in ANSWER.split("\n")) == SHOWN
