"""Work that goes on while something else is done."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def run_beside(work: Callable[[], T]) -> "Future[T]":
    """Run ``work`` on a thread of its own, whose result or error is that of the future.

    Unlike an executor's, the thread does not keep the process alive: Ctrl-C need not wait for it.
    """
    future: Future[T] = Future()

    def finish() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # thread border: it is raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=finish, name="beside", daemon=True).start()
    return future
