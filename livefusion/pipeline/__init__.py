"""From settings to the graph, in the order in which a frame travels."""
