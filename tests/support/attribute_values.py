"""The attributes of a node as values; for any Python, since PyTorch's may be another than ours."""

import ast


class Attributes:
    """`a.axis` is the value of the attribute's text."""

    def __init__(self, texts: dict):
        self._texts = texts

    def __getattr__(self, name):
        if name not in self._texts:
            raise AttributeError(name)
        text = str(self._texts[name])
        if text in ("true", "false"):
            return text == "true"
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    def ints(self, name) -> tuple:
        value = getattr(self, name)
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    def pair(self, name) -> tuple:
        values = self.ints(name)
        return values if len(values) == 2 else values * 2
