"""Does it survive races, kills and hostile files, and keep secrets out?"""
