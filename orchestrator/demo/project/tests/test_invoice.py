import unittest

from shop import invoice
from shop.basket import Basket


class InvoiceTest(unittest.TestCase):
    def test_rows_are_aligned(self):
        rows = invoice.write(Basket()).splitlines()
        self.assertEqual({len(row) for row in rows}, {invoice.WIDTH})

    def test_a_row_shows_the_price_of_all_pieces(self):
        basket = Basket()
        basket.add("pear", "€ 1.50", 2)
        self.assertIn(" 3.0", invoice.write(basket).splitlines()[0])
