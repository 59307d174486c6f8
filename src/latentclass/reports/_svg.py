"""SVG as text. Colours are classes that the style sheet fills in, so that dark mode works."""

from __future__ import annotations

from html import escape


def fixed(value: float) -> str:
    """A coordinate with one decimal, the same text on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Drawing:
    """A picture that grows shape by shape. All text is escaped.

    Parameters
    ----------
    width, height : float
        Size in pixels; the page may show it smaller.
    label : str
        What the picture shows, for those who cannot see it.
    role : str, default="img"
        "group" if parts of it can be used.
    """

    def __init__(self, width: float, height: float, label: str, role: str = "img") -> None:
        self.width, self.height = width, height
        self._label, self._role = label, role
        self._parts: list[str] = []

    def add(self, tag: str, style: str = "", title: str = "", **numbers: float | str) -> None:
        """Add a shape with attributes; `style` is its class, `title` is shown on hover."""
        texts = {k: escape(v) if isinstance(v, str) else fixed(v) for k, v in numbers.items()}
        attributes = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in texts.items())
        kind = f' class="{style}"' if style else ""
        inside = f"<title>{escape(title)}</title>" if title else ""
        end = f">{inside}</{tag}>" if inside else "/>"
        self._parts.append(f"<{tag}{kind}{attributes}{end}")

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "axis") -> None:
        """A straight line."""
        self.add("line", style, x1=x1, y1=y1, x2=x2, y2=y2)

    def path(self, points: list[tuple[float, float]], style: str, title: str = "") -> None:
        """A line through points."""
        steps = " ".join(f"{fixed(x)},{fixed(y)}" for x, y in points)
        self.add("polyline", style, title, points=steps)

    def text(
        self, x: float, y: float, text: str, style: str = "", anchor: str = "start", title: str = ""
    ) -> None:
        """Words. `anchor` says which end stands at x: "start", "middle" or "end"."""
        kind = f' class="{style}"' if style else ""
        end = f' text-anchor="{anchor}"' if anchor != "start" else ""
        inside = f"<title>{escape(title)}</title>" if title else ""
        self._parts.append(
            f'<text{kind} x="{fixed(x)}" y="{fixed(y)}"{end}>{inside}{escape(text)}</text>'
        )

    def __str__(self) -> str:
        size = f'viewBox="0 0 {fixed(self.width)} {fixed(self.height)}" width="{fixed(self.width)}"'
        return (
            f'<svg {size} height="{fixed(self.height)}" role="{self._role}" '
            f'aria-label="{escape(self._label)}">{"".join(self._parts)}</svg>'
        )
