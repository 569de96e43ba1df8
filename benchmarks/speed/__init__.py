"""How fast, and how large?"""
