"""The screen, driven by keys in process: moves, tabs, filter, help, and what is asked before."""

import os
import shutil
import time
import uuid
from pathlib import Path

import pytest
from rich.text import Text
from textual.css.query import NoMatches
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widgets import Static
from textual.worker import WorkerFailed
from watching.driving import chosen, drive, shows, text_of, until

from sow.calls.caller import Caller
from sow.ids import ProjectId
from sow.paths import Workspace
from sow.state.projects import new_project
from sow.state.tasks import add_task
from sow.state.workspace_init import init_workspace
from sow.watching.app import CommandOutput, Filter, WatchApp
from sow.watching.contents import Tab
from sow.watching.listing import Listing
from sow.watching.pane import Pane

pytestmark = pytest.mark.slow  # each draws the whole view, some of them several times

HOSTILE = "[bold red]not markup[/] [@click=app.quit]x[/]"


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    init_workspace(tmp_path)
    workspace = Workspace(tmp_path)
    new_project(workspace, name=HOSTILE, project_id=ProjectId(str(uuid.uuid4())), now=time.time())
    for number, name in (("010", "Sign in"), ("020", HOSTILE), ("030", "Search")):
        add_task(workspace, name=name, agent="implementer", now=time.time(), task_id=number)
    (workspace.project / "phases/implementation/tasks/020/description.md").write_text(HOSTILE)
    return Caller(workspace, dict(os.environ), tmp_path)


def test_what_comes_once_the_view_was_left_does_no_harm(caller: Caller) -> None:
    """Its parts are gone: a message is handled without them, and a look into one of them fails."""

    async def steps(app: WatchApp, _: Pilot[None]) -> None:
        app._running = False  # as `exit` has it
        await app._close_all()
        app.post_message(Listing.Chosen(None))
        app._handle_exception(WorkerFailed(NoMatches("RichLog")))

    drive(caller, steps)


def test_the_cursor_moves_and_stays_on_the_screen(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        assert chosen(app) == "010"
        await pilot.press("down", "j")
        assert chosen(app) == "030"
        await pilot.press("down")
        assert chosen(app) == "030"
        await pilot.press("home")
        assert chosen(app) == "010"

    drive(caller, steps, (80, 24))


def test_markup_in_names_is_text(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: text_of(app).count("[bold red]not markup[/]") == 2)
        await pilot.press("down", "2")
        await until(pilot, lambda: text_of(app).count("[bold red]not markup[/]") >= 4)

    drive(caller, steps, (160, 40))


def test_the_pane_goes_through_its_tabs_and_closes(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        pane = app.query_one(Pane)
        await pilot.press("enter")
        await until(pilot, lambda: "No agent has worked on it yet." in text_of(app))
        await pilot.press("right", "right")
        await until(pilot, lambda: "Nothing is in its log yet." in text_of(app))
        assert pane.tab is Tab.LOG
        await pilot.press("4")
        await until(pilot, lambda: "Nobody has asked for corrections." in text_of(app))
        await pilot.press("2")
        await until(pilot, lambda: "sow task show 010" in text_of(app))
        await pilot.press("escape")
        assert pane.tab is None

    drive(caller, steps)


def colours_of(app: WatchApp) -> set[str]:
    """Return the colours on the screen, but for the terminal's own of text and background."""
    styles = (
        segment.style
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None
    )
    colours = {colour for style in styles for colour in (style.color, style.bgcolor)}
    return {colour.name for colour in colours if colour is not None and not colour.is_default}


def test_each_part_is_drawn_in_the_palette_of_the_terminal(caller: Caller) -> None:
    """A colour of Textual's own would be unreadable on one background or the other."""

    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        for key, words in {
            "enter": "No agent has worked",
            "2": "The end",
            "question_mark": "Esc",
        }.items():
            await pilot.press(key)
            await until(pilot, lambda words=words: words in text_of(app))
            assert colours_of(app) <= PALETTE
        assert colours_of(app)

    description = caller.workspace.project / "phases/implementation/tasks/010/description.md"
    description.write_text(ALL_OF_MARKDOWN)
    drive(caller, steps, (80, 120))


ALL_OF_MARKDOWN = """
# One\n## Two\n### Three\n#### Four\n##### Five\n###### Six

Words *in* **all** `forms` ~~there~~ [are](https://example.com) ![drawn](x.png).

> A quotation.

- an item\n\n1. another

---

| a | b |\n|---|---|\n| c | d |

```python
def login(user: str) -> bool:
    return user == "me"  # 1
```

    print("indented")

The end
"""


PALETTE = {f"color({number})" for number in (1, 2, 3, 4, 6)} | {"cyan"}
"""Red, green, yellow, blue and cyan, as `sow.cli.output` has them; no black, no bright one."""


def test_without_colours_each_part_is_drawn(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual takes the colours out of what is drawn, and trips over what has no style at all."""

    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        for key in "12345":
            await pilot.press(key)
            await until(pilot, lambda: "5 diff" in text_of(app))
        await pilot.press("question_mark")
        await until(pilot, lambda: "Leaves this page." in text_of(app))
        await pilot.press("escape", "slash", *"sea", "enter")
        await until(pilot, lambda: len(app.query_one(Listing).visible_rows) == 1)
        assert not colours_of(app)

    monkeypatch.setenv("NO_COLOR", "1")
    drive(caller, steps)


def test_only_rows_with_the_words_are_shown_until_escape(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"sea", "enter")
        assert [row.key for row in app.query_one(Listing).visible_rows] == ["030"]
        assert chosen(app) == "030"
        await pilot.press("escape")
        assert len(app.query_one(Listing).visible_rows) == 3
        assert not app.query_one(Filter).has_class("shown")

    drive(caller, steps)


def test_where_there_is_no_row_the_view_says_so(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        await shows(pilot, "sow task show 010", "pending, iteration 1")
        await pilot.press("slash", *"xyz", "enter")
        await shows(pilot, "No row has these words.")
        assert "sow task show" not in text_of(app)
        assert "pending, iteration 1" not in text_of(app)
        await pilot.press("escape")
        shutil.rmtree(caller.workspace.root)
        await until(pilot, lambda: "No task and no job is here." in text_of(app))
        await pilot.press("p")
        await until(pilot, lambda: "it cannot be started: No such file" in text_of(app))

    drive(caller, steps)


def test_a_line_that_does_not_fit_says_so(caller: Caller) -> None:
    """A command that has lost its last words would be another one."""

    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        await until(pilot, lambda: "1 agent" in text_of(app))
        for widget in ("#head", "#tabs", "#keys"):
            (line,) = (
                strip.text
                for strip in app.query_one(widget, Static).render_lines(Region(0, 0, 40, 1))
            )
            assert line.rstrip().endswith("…"), line

    drive(caller, steps, (40, 24))


def test_help_names_the_command_of_each_key_that_fits(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await until(pilot, lambda: "sow agent spawn implementer 010 --detach" in text_of(app))
        assert "sow queue pause" in text_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: "sow queue pause" not in text_of(app))

    drive(caller, steps)


def test_a_key_that_does_not_fit_the_row_does_nothing(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("a", "c", "y")
        await pilot.pause()
        assert len(app.screen_stack) == 1
        assert not app.query_one(CommandOutput).has_class("shown")

    drive(caller, steps)


def test_what_a_command_refuses_is_told_in_its_words(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        (caller.workspace.project / "phases/implementation/tasks/010/state.yaml").write_text("x")
        await pilot.press("s")
        await until(pilot, lambda: "(exit 4)" in text_of(app))
        shown = app.query_one(CommandOutput).render()
        assert isinstance(shown, Text) or "state.yaml" in str(shown)
        await pilot.press("escape")
        assert not app.query_one(CommandOutput).has_class("shown")

    drive(caller, steps)


def test_ten_lines_are_enough_for_the_list(caller: Caller) -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter", "end")
        await until(pilot, lambda: "030" in text_of(app))

    drive(caller, steps, (40, 10))
