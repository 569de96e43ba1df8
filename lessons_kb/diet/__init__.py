"""Move rules that do not apply to every task from rules files to cards."""
