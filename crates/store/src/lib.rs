//! What is kept about sources between runs, and what others can use of it.

pub mod export;
