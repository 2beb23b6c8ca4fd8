"""What can go wrong, in words for the person at the notebook."""


class BufferscopeError(Exception):
    """Any error of this package."""


class BadInput(BufferscopeError):
    """What was given cannot be read, or a question cannot be answered of it; the text is the engine's own."""


class NoEngine(BufferscopeError):
    """There is nothing here that could run the engine."""


class Remark(UserWarning):
    """Something about the input that the answer does not show; in the engine's words."""


class NotScheduled(Remark):
    """A program that has no schedule yet: what is said of its memory is not what will run."""
