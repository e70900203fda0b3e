"""The ruler: what became of the faces in a clip, measured on the pictures that left the graph."""
