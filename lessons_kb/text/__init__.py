"""Words: what a text is made of before anything is searched, counted or shown.

Independent files, pure and cheap to import; import them by their own names.
"""
