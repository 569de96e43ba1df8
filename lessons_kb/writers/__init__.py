"""An agent of the user's completes drafts: what it is asked, and what of its answer holds."""
