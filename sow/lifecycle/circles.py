"""Which tasks depend on themselves. Pure, and linear: a project may have a thousand."""

from collections.abc import Mapping, Sequence


def in_circles(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tasks that depend on themselves, by way of others or at once."""
    return [task for task in behind_circles(needs) if _reaches(needs, task)]


def behind_circles(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tasks of circles, and those that wait for one; each edge is looked at once."""
    if not any(needs.values()):
        return []
    left = {task: len(set(others) & needs.keys()) for task, others in needs.items()}
    dependents: dict[str, list[str]] = {}
    for task, others in needs.items():
        for other in set(others):
            dependents.setdefault(other, []).append(task)
    free = [task for task, count in left.items() if not count]
    while free:
        done = free.pop()
        del left[done]
        for task in dependents.get(done, ()):
            left[task] -= 1
            if not left[task]:
                free.append(task)
    return list(left)


def _reaches(needs: Mapping[str, Sequence[str]], task: str) -> bool:
    """Whether a task's own dependencies lead back to it."""
    seen: set[str] = set()
    ahead = list(needs[task])
    while ahead:
        other = ahead.pop()
        if other == task:
            return True
        if other not in seen:
            seen.add(other)
            ahead += needs.get(other, ())
    return False
