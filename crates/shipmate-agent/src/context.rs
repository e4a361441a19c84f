//! What of a conversation a model is shown.
