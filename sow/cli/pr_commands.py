"""`sow pr create` and `sow pr status`."""

from sow.calls.pull_request import PullStanding, open_pull, pull_standing
from sow.cli import late_click as click
from sow.cli.arguments import here
from sow.cli.output import echo_json, json_option
from sow.github.requests import find_place
from sow.schema.output.pulls import PullCheck, PullOpened, PullStatus
from sow.terminal_text import printable, readable

MOST_SHOWN = 5
repository_option = click.option(
    "--repo", "repository", metavar="OWNER/NAME", help="Where. Default: as gh sees it."
)


@click.command("create")
@click.option("--base", metavar="BRANCH", help="Into which branch. Default: the repository's own.")
@click.option("--title", help="Default: the project's name.")
@click.option("--draft", is_flag=True, help="Open it as a draft.")
@repository_option
@json_option
def create(
    *, base: str | None, title: str | None, draft: bool, repository: str | None, as_json: bool
) -> None:
    """Open a pull request for the finished project of this branch, with its report.

    Push the branch first: it must be on GitHub as it is here, and sow never
    pushes. The report lists the work, the documents and the project review. It
    closes the issues that the project and its tasks came from. If a pull request
    is open already, that one is shown.

    Exit: 0 open, 4 refused: nothing is finished, not pushed, or GitHub cannot be asked.
    """
    workspace = here()
    place = find_place(workspace.root, readable(repository) if repository else None)
    opened = open_pull(
        workspace,
        place,
        base=readable(base) if base else None,
        title=readable(title) if title else None,
        draft=draft,
    )
    pull = opened.pull
    if as_json:
        echo_json(
            PullOpened(
                number=pull.number,
                url=pull.html_url,
                state=pull.standing,
                is_new=opened.is_new,
                uncommitted=tuple(opened.uncommitted),
            )
        )
    else:
        words = "opened" if opened.is_new else "is open already"
        click.echo(f"Pull request {pull.number} {words}: {printable(pull.html_url)}")
    for path in opened.uncommitted[:MOST_SHOWN]:
        click.echo(f"Note: not committed: {printable(path)}", err=True)
    if len(opened.uncommitted) > MOST_SHOWN:
        click.echo(f"Note: {len(opened.uncommitted) - MOST_SHOWN} more are not committed", err=True)


@click.command("status")
@click.option(
    "--branch", metavar="BRANCH", help=("The branch. Default: the one that is checked out.")
)
@repository_option
@json_option
def status(branch: str | None, repository: str | None, as_json: bool) -> None:
    """Show the branch's newest pull request: its state, reviews and checks.

    It is open, draft, merged or closed.

    Exit: 0 shown, 4 there is none, or GitHub cannot be asked.
    """
    workspace = here()
    place = find_place(workspace.root, readable(repository) if repository else None)
    found = pull_standing(workspace, place, readable(branch) if branch else None)
    if as_json:
        echo_json(_view(found))
        return
    for line in _lines(found):
        click.echo(printable(line))


def _lines(found: PullStanding) -> list[str]:
    pull = found.pull
    lines = [
        f"Pull request {pull.number}: {pull.title}",
        f"{pull.standing}, {pull.head.ref} into {pull.base.ref}: {pull.html_url}",
        f"Reviews: {_reviews(found)}",
        f"Checks: {_checks(found)}",
    ]
    if pull.standing in ("open", "draft") and pull.mergeable is False:
        lines.append("It cannot be merged as it is: see what is in conflict there.")
    if not found.is_current:
        lines.append(f"It is at {pull.head.sha[:12]}, and the branch here is not.")
    return lines


def _reviews(found: PullStanding) -> str:
    asked = f"changes asked by {', '.join(found.changes_asked_by)}"
    approved = f"approved by {', '.join(found.approved_by)}"
    words = [
        *([asked] if found.changes_asked_by else []),
        *([approved] if found.approved_by else []),
    ]
    return "; ".join(words) or "none yet"


def _checks(found: PullStanding) -> str:
    if found.checks is None:
        return "they may not be seen with this login"
    failed = [name for name, state in found.checks if state == "failed"]
    pending = [name for name, state in found.checks if state == "pending"]
    if failed:
        return f"failed: {', '.join(failed)}"
    if pending:
        return f"pending: {', '.join(pending)}"
    return f"{len(found.checks)} passed" if found.checks else "none"


def _view(found: PullStanding) -> PullStatus:
    pull = found.pull
    return PullStatus(
        number=pull.number,
        url=pull.html_url,
        title=pull.title,
        state=pull.standing,
        branch=pull.head.ref,
        base=pull.base.ref,
        commit=pull.head.sha,
        is_current=found.is_current,
        mergeable=pull.mergeable,
        approvers=tuple(found.approved_by),
        changes_asked_by=tuple(found.changes_asked_by),
        checks=None
        if found.checks is None
        else tuple(PullCheck(name=name, state=state) for name, state in found.checks),
    )
