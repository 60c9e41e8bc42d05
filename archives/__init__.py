"""How to ask one web archive, whatever it speaks. Knows nothing of `timegate`."""
