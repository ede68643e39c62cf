//! The two worlds and what is in each.

use super::tool::Tool;
use super::{echo, retail};

/// Which tools the server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum World {
    /// `lookup` and `update`, which store nothing and answer with their arguments.
    #[default]
    Echo,
    /// A tiny shop: three lookups and one write over canned users and orders.
    Retail,
}

impl World {
    /// The world `--world` calls by this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "echo" => Some(Self::Echo),
            "retail" => Some(Self::Retail),
            _ => None,
        }
    }

    /// The tools, in the order they are listed.
    pub(super) fn tools(self) -> &'static [Tool] {
        match self {
            Self::Echo => &echo::TOOLS,
            Self::Retail => &retail::TOOLS,
        }
    }

    /// What the server says about itself to a model.
    pub(super) fn instructions(self) -> &'static str {
        match self {
            Self::Echo => {
                "Two tools that store nothing and answer with their arguments: lookup reads, update writes."
            }
            Self::Retail => {
                "A tiny shop: find a user by email, look at the user's orders, cancel one that is pending."
            }
        }
    }
}
