//! The agent's own tools: files, search and a shell in its tree.
//!
//! What must hold: no tool panics on what a model sends, every refusal names the fact and what
//! to do instead, and what is too long for a model is in a file that it can read.
