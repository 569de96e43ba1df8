"""Texts that nobody would type, for what is read out of prose."""

import string

from hypothesis import strategies as st

WILD_TEXT = st.text(
    st.one_of(
        st.sampled_from(string.printable),
        st.sampled_from("/\\.:`'\"()[]#\n *가다。！？「」とé\0\u2028"),
        st.characters(),
    ),
    max_size=120,
)
