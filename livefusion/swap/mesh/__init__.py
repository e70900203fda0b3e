"""The built-in swap: a texture drawn on the performer's own mesh."""
