"""Are the drafts worth a lesson?"""
