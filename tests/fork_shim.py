# `sow` for stand-in agents, and what `sys.executable` is in a forked `sow`. What ends at once, or
# cuts loose as a worker in the background does, is asked of the server of forks. Anything else is
# run by the interpreter itself: it belongs to the process tree of whoever calls.
# Light: it is one more start of Python.
# ruff: noqa: PTH109, PTH119, PTH208
import os
import sys

SOW, SOCKET = "", ""  # `put_shim` fills them in

SHORT = (["prompt"], ["agent", "log"], ["task", "set"], ["worker", "--background"])


def _forked(words: list[str]) -> int:
    import _socket
    from array import array

    there = [int(name) for name in os.listdir("/proc/self/fd")]
    held = [number for number in there if number > 2 and os.path.lexists(f"/proc/self/fd/{number}")]
    argv = [SOW, *words]
    texts = [os.getcwd(), sys.executable, str(len(argv)), *argv]
    request = b"".join(os.fsencode(text) + b"\0" for text in texts)
    request += b"".join(name + b"=" + value + b"\0" for name, value in os.environb.items())
    wanted = os.memfd_create("request")
    os.write(wanted, request)
    reading, answer_end = os.pipe()
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(SOCKET)
    numbers = array("i", [wanted, 0, 1, 2, *held, answer_end])
    connection.sendmsg([b"r"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
    os.close(answer_end)
    answer = b""
    while more := os.read(reading, 64):
        answer += more
    return os.waitstatus_to_exitcode(int(answer.split()[1]))


is_python = os.path.basename(sys.argv[0]) != "sow"
argv = sys.argv[4 if is_python else 1 :]
if is_python and sys.argv[1:4] != ["-P", "-m", "sow"]:
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
if any(argv[: len(words)] == words for words in SHORT) and not any(
    name.startswith(("PYTHON", "LD_")) for name in os.environ
):
    code = _forked(argv)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)
if is_python:
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
os.execv(SOW, [SOW, *argv])
