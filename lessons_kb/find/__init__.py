"""From a prompt, a file or a change to the lessons that apply."""
