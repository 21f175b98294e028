"""What the customer gets on paper."""

from shop import money

WIDTH = 30


def write(basket):
    """The text of an invoice: a row for each line, then the total."""
    rows = []
    for name, price, count in basket.lines:
        rows.append(row(f"{count} {name}", price))
    rows.append(row("total", basket.total()))
    return "\n".join(rows)


def row(label, cents):
    return label + " " + money.show(cents)
