"""A terminal that takes no orders from the text it shows."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_CONTROL_CHARACTERS: Final = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {ord("\n"), ord("\t")})


class ControlCharacterStrippingConsole(Console):
    """Leaves out control characters: names come with events, and anybody may send one that moves the cursor."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable; those that order something are the console's own."""
        for segment in super().render(renderable, options):
            yield (
                segment
                if segment.control
                else Segment(segment.text.translate(_CONTROL_CHARACTERS), segment.style)
            )
