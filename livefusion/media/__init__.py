"""The edges of the graph: files, cameras, encoders, virtual cameras."""
