"""What a customer wants to buy."""

from shop import money


class Basket:
    def __init__(self):
        self.lines = []

    def add(self, name, price, count=1):
        self.lines.append((name, money.parse(price), count))

    def total(self):
        """Cents to pay: ten or more of a kind are ten per cent off."""
        cents = 0
        for _, price, count in self.lines:
            line = price * count
            if count > 10:
                line -= line // 10
            cents += line
        return cents
