import unittest

from shop.basket import Basket


class BasketTest(unittest.TestCase):
    def test_ten_of_a_kind_are_cheaper(self):
        basket = Basket()
        basket.add("apple", "€ 0.50", 10)
        self.assertEqual(basket.total(), 450)

    def test_nine_of_a_kind_are_not(self):
        basket = Basket()
        basket.add("apple", "€ 0.50", 9)
        self.assertEqual(basket.total(), 450)

    def test_a_basket_refuses_nothing_of_a_kind(self):
        with self.assertRaises(ValueError):
            Basket().add("apple", "€ 0.50", 0)
