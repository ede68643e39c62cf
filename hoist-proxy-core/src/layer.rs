//! What makes the interceptors of a session.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::{Acts, Error, Hold, Interceptor, Next, Request, Response, SessionContext, WhenBroken};

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
/// It may hold an exchange as long as it likes, and lets nothing through when it breaks, unless
/// told otherwise: [`InterceptorFn::max_hold`], [`InterceptorFn::when_broken`].
///
/// # Examples
///
/// ```
/// use hoist_proxy_core::{Acts, Direction, RawJson, Response, interceptor_fn};
///
/// let acts = Acts::nothing().on(Direction::ToServer, "tools/call");
/// let refuse_deletes = interceptor_fn("no-deletes", acts, |request, next| {
///     Box::pin(async move {
///         if request.name().is_some_and(|tool| tool.starts_with("delete_")) {
///             return Ok(Response::error(-32602, "deleting is switched off"));
///         }
///         next.run(request).await
///     })
/// });
/// ```
///
/// With state: each call takes a handle of its own.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use hoist_proxy_core::{Acts, Direction, interceptor_fn};
///
/// let answered = Arc::new(AtomicU64::new(0));
/// let acts = Acts::nothing().on(Direction::ToServer, "tools/call");
/// let count = interceptor_fn("count", acts, move |request, next| {
///     let answered = Arc::clone(&answered);
///     Box::pin(async move {
///         let response = next.run(request).await?;
///         answered.fetch_add(1, Ordering::Relaxed);
///         Ok(response)
///     })
/// });
/// ```
pub fn interceptor_fn<F>(name: impl Into<String>, acts: Acts, call: F) -> InterceptorFn<F>
where
    F: for<'a> Fn(Request, Next<'a>) -> BoxFuture<'a, Result<Response, Error>> + Send + Sync,
{
    InterceptorFn { name: name.into(), acts, call, max_hold: None, when_broken: WhenBroken::Refuse }
}

/// An interceptor made of a function: what [`interceptor_fn`] returns.
pub struct InterceptorFn<F> {
    name: String,
    acts: Acts,
    call: F,
    max_hold: Option<Hold>,
    when_broken: WhenBroken,
}

impl<F> InterceptorFn<F> {
    /// Limits how long it may hold an exchange ([`Interceptor::max_hold`]).
    #[must_use]
    pub fn max_hold(mut self, hold: Hold) -> Self {
        self.max_hold = Some(hold);
        self
    }

    /// Says what becomes of a request that was with it when it broke
    /// ([`Interceptor::when_broken`]).
    #[must_use]
    pub fn when_broken(mut self, then: WhenBroken) -> Self {
        self.when_broken = then;
        self
    }
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

    fn max_hold(&self) -> Option<Hold> {
        self.max_hold
    }

    fn when_broken(&self) -> WhenBroken {
        self.when_broken
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testkit;
    use crate::{Direction, Interceptor};

    #[tokio::test(start_paused = true)]
    async fn a_function_that_hangs_is_left_out_as_it_was_told() {
        let layer = layer_fn(|_session| {
            let acts = Acts::nothing().on(Direction::ToServer, "ping");
            let hang =
                interceptor_fn("hang", acts, |_request, _next| Box::pin(std::future::pending()));
            let hold = Hold::at_most(Duration::from_secs(1));
            Ok(Box::new(hang.max_hold(hold).when_broken(WhenBroken::Pass)) as Box<dyn Interceptor>)
        });
        let mut session = testkit::session(vec![Box::new(layer)]);
        session.host.send(r#"{"id":1,"method":"ping"}"#).await;
        session.server.expect(r#"{"id":1,"method":"ping"}"#).await;
        session.server.send(r#"{"id":1,"result":{}}"#).await;
        session.host.expect(r#"{"id":1,"result":{}}"#).await;
        session.end().await;
    }
}
