"""The pages for people: search the cards, see what a prompt draws, review what was proposed."""
