"""Which trees may go, why the others stay, and how one goes without a loss."""
