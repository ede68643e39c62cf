//! What the fuzz targets share: inputs taken apart, and JSON read in the plainest way, to compare
//! with.

#![forbid(unsafe_code)]

pub mod input;
pub mod oracle;
pub mod session;
