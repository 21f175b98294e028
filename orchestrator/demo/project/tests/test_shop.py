import unittest

from shop import invoice
from shop.basket import Basket

EXPECTED = """\
10 apple                € 4.50
2 pear                  € 8.70
VAT included            € 2.11
total                  € 13.20"""


class ShopTest(unittest.TestCase):
    def test_the_invoice_of_a_real_basket(self):
        basket = Basket()
        basket.add("apple", "€ 0.50", 10)
        basket.add("pear", "€ 4.35", 2)
        self.assertEqual(invoice.write(basket), EXPECTED)
