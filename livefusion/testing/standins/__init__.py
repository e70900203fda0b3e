"""Stand-ins for swap networks: the true tensors, and a function of crop and identity that is known.

Weights of the real ones belong to others and are not shipped. A stand-in takes and gives what they do, so a
wrong template, channel order, normalisation, latent or output rule changes its picture by an amount that can
be told. Nothing here is shared with ``livefusion.swap.neural``, which is what they test.
"""
