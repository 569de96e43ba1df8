"""Are verdicts right: what is opened, detected, checked, said of an effect?"""
