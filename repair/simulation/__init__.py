"""Links pretended broken, with the truth known: what training and evaluation both work on. Start with
pseudobroken.
"""
