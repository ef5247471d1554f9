"""Finds the numbers of a page that lead nowhere."""

import re
from html.parser import HTMLParser

VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
DIGIT = re.compile(r"[1-9]")


class NumberReader(HTMLParser):
    """Collects name and text of the numbers of the main part of a page that are no links to records.

    A number is the text of a cell with values, of a figure or of an amount. Its name is the head of its column or the
    label of the figure. Smaller text below a number explains it, and is none.
    """

    def __init__(self):
        super().__init__()
        self.open, self.heads, self.column, self.label = [], [], 0, ""
        self.unlinked = set()

    def handle_starttag(self, tag, attrs):
        if tag in VOID:
            return
        attributes = dict(attrs)
        self.open.append((tag, set((attributes.get("class") or "").split()), attributes))
        if tag == "thead":
            self.heads = []
        if tag == "tr":
            self.column = -1
        if tag in {"td", "th"}:
            self.column += 1
            if self.is_within("thead"):
                self.heads.append("")
        if tag == "dt":
            self.label = ""

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        if self.is_within("thead") and self.heads:
            self.heads[-1] += text.strip()
        if self.is_within("dt"):
            self.label += text.strip()
        name = self.name_of_number()
        if name is not None and DIGIT.search(text) and not self.leads_to_records():
            self.unlinked.add((name, text.strip()))

    def is_within(self, tag, css_class=None):
        return any(
            one == tag and (css_class is None or css_class in classes) for one, classes, _ in self.open
        )

    def name_of_number(self):
        if not self.is_within("main") or self.is_within("span", "below") or self.is_within("svg"):
            return None
        if any(one == "td" and classes & {"value", "heat"} for one, classes, _ in self.open):
            return self.heads[self.column] if self.column < len(self.heads) else ""
        if self.is_within("dl", "figures") and self.is_within("dd"):
            return self.label
        return "amount" if self.is_within("span", "amount") else None

    def leads_to_records(self):
        return any("data-number" in attributes for _, _, attributes in self.open)


def find_unlinked_numbers(body):
    """Returns name and text of each number of a page that is no link to its records; zeros need none."""
    reader = NumberReader()
    reader.feed(body)
    return reader.unlinked
