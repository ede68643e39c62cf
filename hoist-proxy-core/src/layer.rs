//! What makes the interceptors of a session.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::{Acts, Error, Interceptor, Next, Request, Response, SessionContext};

/// Makes one session's [`Interceptor`]: each session has its own recorder, its own caps, its own
/// facts.
pub trait Layer: Send + Sync {
    /// Makes the interceptor of a session that is about to start.
    ///
    /// # Errors
    ///
    /// [`Error::LayerSetup`] when it cannot; the session then does not start, and nothing of it
    /// is left behind.
    fn layer(&self, session: &SessionContext) -> Result<Box<dyn Interceptor>, Error>;
}

impl<L: Layer + ?Sized> Layer for Arc<L> {
    fn layer(&self, session: &SessionContext) -> Result<Box<dyn Interceptor>, Error> {
        (**self).layer(session)
    }
}

impl<L: Layer + ?Sized> Layer for Box<L> {
    fn layer(&self, session: &SessionContext) -> Result<Box<dyn Interceptor>, Error> {
        (**self).layer(session)
    }
}

/// A layer from a function that makes interceptors.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{Acts, Direction, interceptor_fn, layer_fn};
///
/// let layer = layer_fn(|_session| {
///     let acts = Acts::nothing().on(Direction::ToServer, "tools/call");
///     Ok(Box::new(interceptor_fn("pass", acts, |request, next| next.run(request))))
/// });
/// ```
pub fn layer_fn<F>(make: F) -> impl Layer
where
    F: Fn(&SessionContext) -> Result<Box<dyn Interceptor>, Error> + Send + Sync,
{
    struct LayerFn<F>(F);

    impl<F> Layer for LayerFn<F>
    where
        F: Fn(&SessionContext) -> Result<Box<dyn Interceptor>, Error> + Send + Sync,
    {
        fn layer(&self, session: &SessionContext) -> Result<Box<dyn Interceptor>, Error> {
            (self.0)(session)
        }
    }

    LayerFn(make)
}

/// An interceptor from a function that handles the requests `acts` names.
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{Acts, Direction, RawJson, Response, interceptor_fn};
///
/// let acts = Acts::nothing().on(Direction::ToServer, "tools/call");
/// let refuse_deletes = interceptor_fn("no-deletes", acts, |request, next| {
///     Box::pin(async move {
///         let name = request.params().and_then(|p| p.get("name"));
///         if name.is_some_and(|n| n.text().is_some_and(|t| t.starts_with("delete_"))) {
///             return Ok(Response::error(-32602, "deleting is switched off"));
///         }
///         next.run(request).await
///     })
/// });
/// ```
pub fn interceptor_fn<F>(name: impl Into<String>, acts: Acts, call: F) -> impl Interceptor
where
    F: for<'a> Fn(Request, Next<'a>) -> BoxFuture<'a, Result<Response, Error>> + Send + Sync,
{
    InterceptorFn { name: name.into(), acts, call }
}

struct InterceptorFn<F> {
    name: String,
    acts: Acts,
    call: F,
}

impl<F> Interceptor for InterceptorFn<F>
where
    F: for<'a> Fn(Request, Next<'a>) -> BoxFuture<'a, Result<Response, Error>> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn acts(&self) -> Acts {
        self.acts.clone()
    }

    fn call<'a>(
        &'a self,
        request: Request,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        (self.call)(request, next)
    }
}

impl<F> fmt::Debug for InterceptorFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptorFn").field("name", &self.name).finish_non_exhaustive()
    }
}
