//! One host connection joined to one server connection by a chain of interceptors.
//!
//! A session is one async function on one task. The futures of its exchanges live beside it in one
//! set, so that a layer that holds nothing changes no order: they are polled right after the line
//! that started or answered them.

mod ask;
mod batch;
mod chain;
mod core;
mod elements;
mod exchange_state;
mod hold;
mod ledger;
mod pump;
mod read;
mod send;
mod sides;
mod unambiguous;

pub(crate) use ask::ask_host;
pub(crate) use chain::{Slot, proceed};
pub(crate) use core::{Core, Limits, Link};
pub(crate) use exchange_state::ExchangeState;
pub(crate) use pump::{SessionSettings, run};
pub(crate) use send::ready_for_own;
pub(crate) use unambiguous::check_answer;
