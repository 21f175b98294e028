import unittest

from shop import money


class MoneyTest(unittest.TestCase):
    def test_no_cent_is_lost(self):
        self.assertEqual(money.parse("€ 4.35"), 435)
        self.assertEqual(money.parse("€ 19.99"), 1999)

    def test_a_price_tag_has_two_digits(self):
        self.assertEqual(money.show(1230), "€ 12.30")
        self.assertEqual(money.show(500), "€ 5.00")
