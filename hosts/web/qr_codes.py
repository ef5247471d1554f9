"""QR codes of links, as SVG and as PNG."""

from io import BytesIO
from typing import Final, Literal

from segno import make_qr

PNG_SCALE: Final = 16
"""Pixels of one module: a code of 33 modules is 656 pixels wide, enough for print."""

_QUIET_ZONE: Final = 4
_ERROR_CORRECTION: Final = "m"

QrFormat = Literal["svg", "png"]


def draw_qr_code(text: str, image_format: QrFormat) -> bytes:
    """Returns the image of a QR code, black on white with the quiet zone that scanners need.

    Args:
        text: what the code holds; at most about 2,300 bytes.
        image_format: ``svg`` or ``png``.
    """
    output = BytesIO()
    code = make_qr(text, error=_ERROR_CORRECTION)
    if image_format == "png":
        code.save(output, kind="png", scale=PNG_SCALE, border=_QUIET_ZONE, light="white")
    else:
        code.save(
            output,
            kind="svg",
            border=_QUIET_ZONE,
            light="white",
            omitsize=True,
            svgclass=None,
            lineclass=None,
        )
    return output.getvalue()
