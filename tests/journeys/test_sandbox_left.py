"""What a hostile agent leaves outside of its sandbox: its clone, its reports, its names, its lock.

sow reads all of it outside. Nothing of it runs, holds anybody up, steers a terminal, or has an
agent run twice.
"""

import shlex
import sys
from pathlib import Path

import pytest
import yaml
from capabilities import skip_or_fail
from journeys.gitsite import commit, git
from journeys.site import Site, wait_until
from journeys.staff import start_worker
from journeys.test_hostile_agent import CHARACTERS, on_terminal
from journeys.test_sandbox import begin, configure, output

from sow.processes import procfs
from sow.sandbox.probe import SandboxUnavailable, usable

FINAL = ("done", "failed", "cancelled")
CONTROL_SEQUENCE = "\x9b"


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    try:
        usable("this test")
    except SandboxUnavailable as error:
        skip_or_fail(error.message)


def write_author(site: Site, text: str) -> None:
    (site.base / "author.sh").write_text(text)


def clone_of(site: Site, task: str = "010") -> Path:
    return Path(site.task(task)["clone"]["path"])


HOOKS = (
    *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout"),
    *("post-commit", "post-index-change", "post-merge", "post-rewrite", "pre-applypatch"),
    *("pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase"),
    *("prepare-commit-msg", "reference-transaction", "sendemail-validate", "update"),
)
TRAPS = """#!/bin/sh
cat >/dev/null
echo "mine first" >new.txt
sed -i '1s/.*/first by the agent/' long.txt
printf '* filter=evil diff=evil merge=evil\\n*.txt filter=more\\n' >.gitattributes
git init -q inner
git -C inner -c user.name=I -c user.email=i@example.invalid commit -q --allow-empty -m inner
git add new.txt long.txt .gitattributes
git -c user.name=I -c user.email=i@example.invalid commit -q -m "Work"
echo "and more" >>new.txt
T=$PWD/.git/trap
printf '#!/bin/sh\\ntouch {traps}/$1 2>/dev/null\\ncat\\n' >$T
chmod +x $T
mkdir -p .git/hooks .git/info inner/.git/hooks
for hook in {hooks}; do
    for folder in .git inner/.git; do
        printf '#!/bin/sh\\ntouch {traps}/hook-%s\\n' $hook >$folder/hooks/$hook
        chmod +x $folder/hooks/$hook
    done
done
cp .gitattributes .git/info/attributes
printf '[filter "more"]\\n\\tclean = %s included\\n\\tprocess = %s process\\n' $T $T >.git/more
cat >>.git/config <<END
[core]
    fsmonitor = $T fsmonitor
    hooksPath = $PWD/.git/hooks
    sshCommand = $T ssh
    gitProxy = $T proxy
    pager = $T pager
    editor = $T editor
    askPass = $T askpass
    alternateRefsCommand = $T alternate
[filter "evil"]
    clean = $T clean
    smudge = $T smudge
    required = true
[diff]
    external = $T external
[diff "evil"]
    textconv = $T textconv
    command = $T diff
[merge "evil"]
    driver = $T merge
[gpg]
    program = $T gpg
[commit]
    gpgSign = true
[log]
    showSignature = true
[pager]
    diff = $T pager
    log = $T pager
[sequence]
    editor = $T sequence
[credential]
    helper = !$T credential
[uploadpack]
    packObjectsHook = $T pack
[trailer "Sow-Task"]
    cmd = $T trailer
[remote "origin"]
    url = ext::$T remote
    uploadpack = $T upload
    vcs = ext
[url "ext::$T url "]
    insteadOf = /
[submodule "inner"]
    update = !$T submodule
    active = true
    url = ext::$T inner
[protocol "ext"]
    allow = always
[include]
    path = $PWD/.git/more
[includeIf "gitdir:**"]
    path = $PWD/.git/more
[alias]
    status = !$T alias
END
cp .git/config inner/.git/config
sow task set status needs_review
"""
COMMANDS = (
    *(("task", "diff", "010"), ("task", "diff", "010", "--stat"), ("task", "show", "010")),
    *(("status",), ("next",), ("clone", "list"), ("validate",), ("task", "check", "010", "unit")),
    *(("clone", "update", "010"), ("review", "accept", "010", "--summary", "Fine.")),
    *(("merge", "010"), ("clone", "list"), ("clone", "remove", "010", "--discard")),
    *(("project", "abandon"), ("clone", "prune", "--all-projects")),
)


def test_nothing_that_it_leaves_in_its_clone_runs_outside(site: Site) -> None:
    traps = site.base / "traps"
    traps.mkdir()
    begin(site, sandbox="bwrap")
    write_author(site, TRAPS.format(traps=shlex.quote(str(traps)), hooks=" ".join(HOOKS)))
    settings = {"clones": {"use": "always"}, "checks": {"unit": "true"}}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump(settings))
    lines = [f"line {number}\n" for number in range(30)]
    (site.root / "long.txt").write_text("".join(lines))
    commit(site, "settings")
    site.sow("trust", "--yes")
    site.sow("agent", "spawn", "implementer", "010")
    assert site.task("010")["status"] == "needs_review", (output(site, 1), site.worker_logs())
    assert [*traps.iterdir()] == [], "the end of the attempt"
    (site.root / "long.txt").write_text("".join([*lines[:-1], "last by a person\n"]))
    git(site, "commit", "-qam", "meanwhile")
    clone = clone_of(site)
    for words in COMMANDS:
        done = site.sow(*words, expect=None)
        assert "itself failed" not in done.err, (words, done)
        assert [*traps.iterdir()] == [], (words, done)
        if words[0] == "merge":
            merged = git(site, "show", "main:long.txt").splitlines()
            assert (merged[0], merged[-1]) == ("first by the agent", "last by a person"), done
            see_traps_act(site, clone, traps)
    assert not clone.exists()


def see_traps_act(site: Site, clone: Path, traps: Path) -> None:
    """See that these are traps for a git that reads the clone's settings; then reset them."""
    (clone / "new.txt").write_text("changed\n")
    git(site, "add", "new.txt", cwd=clone)
    git(site, "log", "-p", "-1", cwd=clone)
    names = {path.name for path in traps.iterdir()}
    assert {"process", "fsmonitor", "hook-post-index-change"} & names, names
    assert len(names) > 1, names
    for path in traps.iterdir():
        path.unlink()


PIPES = """#!/bin/sh
cat >/dev/null
test $SOW_TASK_ID = 020 && {{ sow task set status needs_review; exit; }}
mkdir sub
echo work >sub/work
git add -A
git -c user.name=I -c user.email=i@example.invalid commit -q -m Work
sow task set status needs_review
mkdir -p .git/info .git/objects/info
for name in .git/index .git/HEAD .git/config .git/packed-refs .git/info/exclude .git/shallow \\
    .git/info/attributes .git/objects/info/alternates .git/refs/heads/pipe .git/commondir \\
    .gitattributes .gitignore .gitmodules sub/.gitignore sub/work code.txt pipe; do
    case {left} in *" $name "*) rm -rf $name; mkfifo $name ;; esac
done
"""
GITS_OWN = (
    *(".git/index", ".git/HEAD", ".git/config", ".git/packed-refs", ".git/info/exclude"),
    *(".git/shallow", ".git/info/attributes", ".git/objects/info/alternates"),
    *(".git/refs/heads/pipe", ".git/commondir"),
)
WORKING_TREE = (
    *(".gitattributes", ".gitignore", ".gitmodules", "sub/.gitignore", "sub/work", "code.txt"),
    "pipe",
)


@pytest.mark.one_of
@pytest.mark.parametrize("left", [GITS_OWN, WORKING_TREE], ids=["of-git", "in-the-working-tree"])
def test_pipes_that_it_leaves_hold_nobody_up(site: Site, left: tuple[str, ...]) -> None:
    begin(site, sandbox="bwrap")
    write_author(site, PIPES.format(left=f'" {" ".join(left)} "'))
    site.sow("agent", "spawn", "implementer", "010", expect=None)
    assert site.job(1)["state"] in FINAL
    assert clone_of(site).joinpath(left[-1]).is_fifo(), output(site, 1)
    for words in (
        *(("status",), ("next",), ("task", "show", "010"), ("task", "diff", "010")),
        *(("clone", "list"), ("validate",), ("clone", "update", "010")),
        *(("review", "accept", "010", "--summary", "Fine."), ("merge", "010")),
    ):
        done = site.sow(*words, expect=None)
        assert "itself failed" not in done.err, (words, done)
    site.sow("agent", "spawn", "implementer", "020")
    assert site.task("020")["status"] == "needs_review"
    site.sow("clone", "remove", "010", "--discard", expect=None)
    assert not clone_of(site, "020").joinpath("pipe").exists()


NAMES = """#!/bin/sh
cat >/dev/null
N=$(printf '{name}')
sow agent log "$N" --body "$N" --file "$N" --result "$N"
sow task set feedback "$N"
sow task set status "$N"
echo work >"$N"
git add -A
git -c user.name=I -c user.email=i@example.invalid commit -q -m "$N"
echo "$KEY" >"left $N"
echo "$N"
echo "$N" >&2
sow task set status needs_review
"""
NASTY = r"\033]0;owned\007\033[2Jx\302\23331m\342\200\256\r\nforged"
SHOWN = (
    *(("log",), ("task", "log", "010"), ("task", "show", "010"), ("task", "diff", "010")),
    *(("job", "show", "1"), ("job", "explain", "1"), ("job", "logs", "1"), ("worker", "logs")),
    *(("status",), ("next",), ("clone", "list"), ("task", "explain", "010")),
)


def test_nothing_that_it_names_steers_a_terminal(site: Site) -> None:
    begin(site)
    secret = site.base / "home/secret"
    secret.write_text("a-secret-of-the-users\n")
    secret.chmod(0o600)
    write_author(site, NAMES.format(name=NASTY))
    configure(site, sandbox="bwrap", env_files={"KEY": str(secret)})
    site.sow("agent", "spawn", "implementer", "010", expect=None)
    assert "is in its work" in " ".join(site.job(1)["warnings"]), site.worker_logs()
    for words in SHOWN:
        seen = on_terminal(site, *words)
        assert [each for each in (*CHARACTERS, CONTROL_SEQUENCE) if each in seen] == [], words
    assert "forged" in on_terminal(site, "task", "log", "010")


TELLS = """#!/bin/sh
cat >/dev/null
sow agent log "the key is $KEY"
sow task set status needs_review
"""


def test_a_secret_that_it_reports_is_blanked_and_told(site: Site) -> None:
    begin(site)
    secret = site.base / "home/secret"
    secret.write_text("a-secret-of-the-users\n")
    secret.chmod(0o600)
    write_author(site, TELLS)
    configure(site, sandbox="bwrap", env_files={"KEY": str(secret)})
    site.sow("agent", "spawn", "implementer", "010")
    log = (site.task_folder("010") / "log.md").read_text()
    assert "the key is [KEY]" in log
    assert "a-secret-of-the-users" not in log
    words = "the agent has printed or reported the value of KEY; [KEY] stands in its place"
    assert words in site.job(1)["warnings"]


CLOSED = """#!/bin/sh
cat >/dev/null
grep ^Seccomp: /proc/self/status
sow task set status needs_review
"""


def test_the_kernels_keyrings_are_closed_to_it_and_to_a_check(site: Site) -> None:
    begin(site, sandbox="bwrap")
    write_author(site, CLOSED)
    site.sow("agent", "spawn", "implementer", "010")  # makes its clone first
    check = {"run": "grep -q '^Seccomp:.2' /proc/self/status", "sandbox": "bwrap"}
    (site.root / ".sow/config.yaml").write_text(yaml.safe_dump({"checks": {"unit": check}}))
    site.sow("agent", "spawn", "implementer", "020")
    assert [output(site, job).splitlines()[0] for job in (1, 2)] == ["Seccomp:\t2"] * 2
    site.sow("trust", "--yes")
    site.sow("project", "check", "unit")


HIDING = f"""#!{sys.executable}
import fcntl, os, sys
sys.stdin.read()
own = os.open("own.lock", os.O_RDWR | os.O_CREAT)
try:
    fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open("met", "w").close()
os.set_inheritable(own, True)
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{{name}}").endswith("alive.lock"):
            fcntl.flock(int(name), fcntl.LOCK_UN)
            os.close(int(name))
    except OSError:
        pass
with open("runs", "a") as file:
    file.write("run\\n")
again = "test $(wc -l <runs) = 1 || exit 0; "
wait = "touch up; while [ ! -e go ]; do sleep 0.05; done"
os.execve("/bin/sh", ["sh", "-c", again + wait], {{"PATH": "/usr/bin:/bin"}})
"""


def hide(site: Site, sandbox: str, **executor: int) -> Path:
    """Have an agent clear its environment and give up its attempt's lock; return its clone."""
    begin(site, sandbox=sandbox, **executor)
    write_author(site, HIDING)
    site.sow("agent", "spawn", "implementer", "010", "--detach")
    wait_until(lambda: "clone" in site.task("010"), "a clone")
    clone = clone_of(site)
    wait_until((clone / "up").exists, "the agent hides")
    return clone


@pytest.mark.one_of
@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
def test_an_agent_that_hides_is_not_run_twice(site: Site, sandbox: str) -> None:
    clone = hide(site, sandbox)
    (worker,) = site.workers()
    site.kill(worker["pid"])
    wait_until(lambda: not procfs.variables(worker["pid"]), "the worker is dead")
    again = start_worker(site, "--drain")
    again.wait_for("adopted: attempt 1")
    (clone / "go").touch()
    assert again.wait() == 0, again.log_text
    assert (clone / "runs").read_text() == "run\n"
    (attempt,) = site.job(1)["attempts"]
    assert attempt["cause"] == "no_status"


def test_a_hidden_agent_ends_with_its_supervisor_before_it_is_run_again(site: Site) -> None:
    clone = hide(site, "bwrap", retries=2)
    site.kill(site.job(1)["attempts"][0]["pid"])
    site.sow("agent", "wait", "010", expect=None)
    assert (clone / "runs").read_text().startswith("run\nrun\n")
    assert not (clone / "met").exists()
    assert site.job(1)["attempts"][0]["cause"] == "worker_died"
