//! `--listen` under hosts that come and go, and under many at once.

mod coming_and_going;
mod crowd;
mod listening;
mod raw;

pub(crate) use listening::Listening;
