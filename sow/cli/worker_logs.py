"""`sow worker logs`."""

import click

from sow.cli.calling import this_caller


@click.command()
@click.option("-n", "--lines", default=50, show_default=True, help="How many lines of each.")
@click.option("-f", "--follow", is_flag=True, help="Go on printing what is added.")
def logs(lines: int, follow: bool) -> None:
    """Print what background workers have said, the newest worker last."""
    from sow.cli.following import follow_files, last_lines

    folder = this_caller().workspace.workers
    paths = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
    if not paths:
        click.echo("No background worker has run here.")
        return
    for path in paths[-5:]:
        click.echo(f"==> {path.name} <==")
        click.echo(last_lines(path, lines), nl=False)
    if follow:
        follow_files(lambda: sorted(folder.glob("*.log")), lambda text: click.echo(text, nl=False))
