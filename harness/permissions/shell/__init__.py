"""What a command line would do, read off its words as a shell reads them."""
