"""Does the right card come, and does the gate stay silent otherwise?"""
