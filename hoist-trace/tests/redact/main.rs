//! Pseudonymised copies: nothing gets out, and what can be learned stays.

mod bad_input;
mod copy;
mod corpus;
mod leak;
mod random;
mod sessions;
