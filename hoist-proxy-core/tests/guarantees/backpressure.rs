//! *Never stuck*, under pressure: queues are bounded, a slow peer holds back the one that writes to
//! it, and no order of slowness deadlocks.

use hoist_proxy_core::json::object_set;
use hoist_proxy_core::{Layer, Response, testkit};

use crate::util::{
    Stoppable, act, answer, call, cross, id_of, looks_up, lookup, note, passes, ping, raw,
};

/// A server that does one thing at a time and answers each request before it reads the next.
async fn serve(mut server: testkit::Peer) -> usize {
    let mut count = 0;
    while let Some(line) = server.receive_line().await {
        let line = String::from_utf8(line.body().to_vec()).unwrap();
        if raw(&line).get("id").is_some() {
            server.send(&answer(id_of(&line))).await;
            count += 1;
        }
    }
    count
}

/// Runs calls against such a server; gives back how many requests it served.
async fn drive(capacity: usize, calls: usize, layers: Vec<Box<dyn Layer>>) -> usize {
    let Stoppable { mut host, server, stop, running } = Stoppable::start(layers, capacity);
    let serve = tokio::spawn(serve(server));
    host.send(r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}"#).await;
    assert_eq!(id_of(&host.receive().await), "\"i\"");
    host.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    // Writes and reads at once, as a host does.
    let mut answered = vec![false; calls];
    let (mut sent, mut got) = (0, 0);
    while got < calls {
        if sent < calls && host.try_send(&call(sent)) {
            sent += 1;
            continue;
        }
        if sent == got {
            host.send(&call(sent)).await;
            sent += 1;
        }
        let line = host.receive().await;
        let id: usize = id_of(&line).parse().unwrap();
        assert!(!std::mem::replace(&mut answered[id], true), "{line} twice");
        got += 1;
    }
    host.close();
    let count = serve.await.unwrap();
    host.expect_end().await;
    running.await.unwrap().unwrap().into_last().unwrap();
    drop(stop);
    count
}

#[tokio::test(start_paused = true)]
async fn two_thousand_calls_with_three_lookups_each_pass_queues_of_one() {
    let layer = looks_up(3);
    assert_eq!(drive(1, 2000, vec![layer.layer()]).await, 2000 * 4 + 1);
    assert_eq!(layer.ran.count(), 2000);
}

#[tokio::test(start_paused = true)]
async fn large_lookups_do_not_deadlock_with_a_server_that_does_one_thing_at_a_time() {
    let big = raw(&format!("\"{}\"", "x".repeat(1 << 20)));
    let layer = act("large", move |request, next| {
        let big = big.clone();
        Box::pin(async move {
            let lookups = (0..40).map(|n| {
                let own = lookup(n);
                let params = object_set(own.params().unwrap(), "big", &big);
                next.run(own.with_params(params))
            });
            futures::future::try_join_all(lookups).await?;
            next.run(request).await
        })
    });
    assert_eq!(drive(1, 1, vec![layer.layer()]).await, 42);
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_read_holds_its_server_back_and_goes_on() {
    for acting in [false, true] {
        let layer = passes();
        let layers = if acting { vec![layer.layer()] } else { Vec::new() };
        let Stoppable { mut host, mut server, stop: _stop, .. } = Stoppable::start(layers, 4);
        if acting {
            cross(&mut host, &mut server, &call(0)).await;
            cross(&mut server, &mut host, &answer(0)).await;
        }
        let mut sent = 0;
        loop {
            while server.try_send(&note(sent)) {
                sent += 1;
                assert!(sent < 1000, "nothing holds the server back");
            }
            server.expect_nothing().await;
            if !server.try_send(&note(sent)) {
                break;
            }
            sent += 1;
        }
        // The other way is open meanwhile.
        cross(&mut host, &mut server, &ping(1)).await;
        for n in 0..sent {
            host.expect(&note(n)).await;
        }
        cross(&mut server, &mut host, &answer(1)).await;
        assert_eq!(layer.ran.count(), usize::from(acting));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_holds_its_host_back_and_goes_on() {
    let layer = passes();
    let Stoppable { mut host, mut server, stop: _stop, .. } =
        Stoppable::start(vec![layer.layer()], 4);
    let mut sent = 0;
    loop {
        if !host.try_send(&call(sent)) {
            host.expect_nothing().await;
            if !host.try_send(&call(sent)) {
                break;
            }
        }
        sent += 1;
        assert!(sent < 1000, "nothing holds the host back");
    }
    cross(&mut server, &mut host, &note(1)).await;
    for n in 0..sent {
        server.expect(&call(n)).await;
        server.send(&answer(n)).await;
        host.expect(&answer(n)).await;
    }
    assert_eq!(layer.ran.count(), sent);
}

#[tokio::test(start_paused = true)]
async fn answers_the_proxy_gives_hold_a_host_back_that_does_not_read_them() {
    let layer = act("refuses", |_request, _next| {
        Box::pin(async { Ok(Response::error(-1, &"x".repeat(1 << 20))) })
    });
    let Stoppable { mut host, mut server, stop: _stop, .. } =
        Stoppable::start(vec![layer.layer()], 1);
    let mut sent = 0;
    loop {
        server.expect_nothing().await;
        if !host.try_send(&call(sent)) {
            break;
        }
        sent += 1;
        assert!(sent < 100, "nothing holds the host back");
    }
    for n in 0..sent {
        assert_eq!(id_of(&host.receive().await), n.to_string());
    }
    host.send(&call(sent)).await;
    assert_eq!(id_of(&host.receive().await), sent.to_string());
    assert_eq!(layer.ran.count(), sent + 1);
}
