"""What coding agents record of a session, one file per agent; read only."""
