//! Stories of the state machine: given these events, when this is asked, then this is decided.
