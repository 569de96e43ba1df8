"""Rules files on a diet: rules that do not hold for every task become cards."""
