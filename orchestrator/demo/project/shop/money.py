"""Amounts of money, kept in cents."""


def parse(text):
    """Cents in a price tag such as `€ 12.30`."""
    number = text.replace("€", "").strip()
    return int(float(number) * 100)


def show(cents):
    """A price tag for an amount in cents."""
    return f"€ {cents / 100}"
