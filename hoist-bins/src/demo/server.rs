//! What all connections of one server share.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;

use super::connection::Connection;
use super::retail::Shop;
use super::tool::Called;
use super::world::World;
use super::{echo, retail};

/// The demo server: a world and its state, shared by every connection.
///
/// Cloning it gives another handle on the same state.
#[derive(Clone, Debug)]
pub struct Server {
    world: World,
    shop: Arc<Mutex<Shop>>,
}

impl Server {
    /// A server of `world` in which nothing has happened yet.
    pub fn new(world: World) -> Self {
        Self { world, shop: Arc::default() }
    }

    /// Opens a connection: one pair of pipes, one HTTP session, or one request without a session.
    pub fn connect(&self) -> Connection {
        Connection::new(self.clone())
    }

    pub(super) fn world(&self) -> World {
        self.world
    }

    /// Calls a tool that [`World::tools`] lists, with a JSON object as its arguments.
    pub(super) fn call(&self, tool: &str, arguments: &RawValue) -> Called {
        match self.world {
            World::Echo => echo::call(arguments),
            World::Retail => {
                // Every change to the shop is a single insertion, so a panic elsewhere leaves
                // nothing half done.
                let mut shop = self.shop.lock().unwrap_or_else(PoisonError::into_inner);
                retail::call(&mut shop, tool, arguments).into()
            }
        }
    }
}
