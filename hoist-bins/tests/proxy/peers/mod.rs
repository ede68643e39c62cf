//! Clients and servers of other SDKs, installed on first use.

mod install;
mod npm;
mod python;
mod rmcp;
mod venv;

pub(crate) use npm::{npm, npm_client};
pub(crate) use python::{python, python_script};
pub(crate) use rmcp::rmcp;
