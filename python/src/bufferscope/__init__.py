"""Why an XLA program needs the memory that it needs.

>>> import bufferscope
>>> compiled = jax.jit(f).lower(x).compile()  # doctest: +SKIP
>>> bufferscope.show(compiled)  # the lab, in the notebook  # doctest: +SKIP
>>> bufferscope.peak(compiled)  # what is alive when most is  # doctest: +SKIP
>>> bufferscope.explain(compiled, "fusion.1", "fusion.2")  # why two values do not share  # doctest: +SKIP
>>> bufferscope.report(compiled, "report.html")  # one page, for a colleague  # doctest: +SKIP

A program is what `jax.jit(f).lower(...).compile()` gives, or anything else with a method `as_text()` that gives optimised
HLO; the text itself; or the path of a file, a dump folder or an archive of one. Nothing leaves the machine: the lab is a
page that may run its own scripts and ask for nothing, and the engine is a program that reads the files of the question.
"""

from ._answers import Explanation, Peak
from ._ask import explain, peak, report, run
from ._command import Result
from ._errors import BadInput, BufferscopeError, NoEngine, NotScheduled, Remark
from ._lab import Lab, show
from ._version import __version__

__all__ = [
    "BadInput",
    "BufferscopeError",
    "Explanation",
    "Lab",
    "NoEngine",
    "NotScheduled",
    "Peak",
    "Remark",
    "Result",
    "__version__",
    "explain",
    "peak",
    "report",
    "run",
    "show",
]
