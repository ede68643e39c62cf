//! Guides: what is too long for the documentation of one item. Their code runs with the tests.

#[doc = include_str!("write_an_interceptor.md")]
pub mod write_an_interceptor {}
