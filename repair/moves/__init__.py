"""Where pages of a site moved: rules learnt from known pairs. Start with patterns, then rules."""
