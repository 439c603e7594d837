"""What people see: templates, texts in seven languages, and the pages made of them (pure)."""
