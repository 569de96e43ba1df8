"""Browse the cards and the drafts: full screen, or line by line.

``ManageApp(RowSource(brain))`` is the textual application; its ``run_test`` drives it without a
terminal.
"""
