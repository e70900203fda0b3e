"""What a machine has of all that LiveFusion can use; each module looks at one thing and changes nothing."""
