"""Who reads, without saying who: what each looked at lately, what is theirs alone, and nobody else's business."""
