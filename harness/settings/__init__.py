"""Every setting: how it is declared, and where its value comes from."""
