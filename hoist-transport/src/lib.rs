#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod framing;

pub use framing::Framer;
