"""Finding faces and following them."""
