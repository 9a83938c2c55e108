"""What contrastive methods are made of: the row-block engine, objectives, views."""
