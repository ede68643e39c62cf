//! The world `retail`: a shop with a million users, each with two pending orders, and one write.

mod data;
mod schema;

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::object;
use super::tool::Answer;
pub(super) use schema::TOOLS;

/// The reasons a customer may cancel for.
const REASONS: [&str; 2] = ["no longer needed", "ordered by mistake"];

/// What has happened to the orders since the server started.
#[derive(Debug, Default)]
pub(super) struct Shop {
    /// Why each cancelled order was cancelled.
    cancelled: HashMap<data::OrderKey, &'static str>,
}

/// Calls one of [`TOOLS`] with `arguments`, a JSON object.
pub(super) fn call(shop: &mut Shop, tool: &str, arguments: &RawValue) -> Answer {
    let called = match tool {
        "find_user_id_by_email" => find_user(arguments),
        "get_user_details" => user_details(arguments),
        "get_order_details" => order_details(shop, arguments),
        "cancel_pending_order" => cancel(shop, arguments),
        _ => Err(Answer::Failed(format!("no tool {tool} in this shop"))),
    };
    called.unwrap_or_else(|failed| failed)
}

fn find_user(arguments: &RawValue) -> Result<Answer, Answer> {
    #[derive(Deserialize)]
    struct Arguments {
        email: String,
    }
    let Arguments { email } = read(arguments, "email")?;
    let user =
        data::UserKey::from_email(&email).ok_or_else(|| missing("user has the email", &email))?;
    Ok(Answer::Object(format!(r#"{{"user_id":"{}"}}"#, user.id())))
}

fn user_details(arguments: &RawValue) -> Result<Answer, Answer> {
    #[derive(Deserialize)]
    struct Arguments {
        user_id: String,
    }
    let Arguments { user_id } = read(arguments, "user_id")?;
    let user =
        data::UserKey::from_id(&user_id).ok_or_else(|| missing("user has the id", &user_id))?;
    Ok(json(&user.details()))
}

fn order_details(shop: &Shop, arguments: &RawValue) -> Result<Answer, Answer> {
    #[derive(Deserialize)]
    struct Arguments {
        order_id: String,
    }
    let Arguments { order_id } = read(arguments, "order_id")?;
    let order = find_order(&order_id)?;
    Ok(json(&order.details(shop.cancelled.get(&order).copied())))
}

fn cancel(shop: &mut Shop, arguments: &RawValue) -> Result<Answer, Answer> {
    #[derive(Deserialize)]
    struct Arguments {
        order_id: String,
        reason: String,
    }
    let Arguments { order_id, reason } = read(arguments, "order_id and reason")?;
    let order = find_order(&order_id)?;
    let reason = REASONS.into_iter().find(|known| *known == reason).ok_or_else(|| {
        Answer::Failed(format!(
            "the reason must be \"{}\" or \"{}\", not {reason:?}",
            REASONS[0], REASONS[1]
        ))
    })?;
    if shop.cancelled.contains_key(&order) {
        return Err(Answer::Failed(format!(
            "order {order_id} is not pending: it is cancelled already"
        )));
    }
    shop.cancelled.insert(order, reason);
    Ok(json(&order.details(Some(reason))))
}

fn find_order(id: &str) -> Result<data::OrderKey, Answer> {
    data::OrderKey::from_id(id).ok_or_else(|| missing("order has the id", id))
}

fn read<'a, T: Deserialize<'a>>(arguments: &'a RawValue, wanted: &str) -> Result<T, Answer> {
    object(arguments)
        .ok_or_else(|| Answer::BadArguments(format!("the tool needs {wanted}, as strings")))
}

fn missing(what: &str, which: &str) -> Answer {
    Answer::Failed(format!("no {what} {which:?}"))
}

fn json(details: &impl serde::Serialize) -> Answer {
    Answer::Object(serde_json::to_string(details).expect("plain structs can be written as JSON"))
}

#[cfg(test)]
mod tests {
    use super::{Answer, Shop, call};

    #[track_caller]
    fn check(shop: &mut Shop, tool: &str, arguments: &str, expected: &str) {
        let text = match call(shop, tool, serde_json::from_str(arguments).unwrap()) {
            Answer::Object(text) => text,
            Answer::Failed(text) => format!("failed: {text}"),
            Answer::BadArguments(text) => format!("bad: {text}"),
            Answer::Text(text) => format!("text: {text}"),
        };
        assert!(text.contains(expected), "{tool} {arguments} gave {text}");
    }

    #[test]
    fn users_and_orders_are_found_by_their_names_only() {
        let shop = &mut Shop::default();
        for (tool, arguments, expected) in [
            ("find_user_id_by_email", r#"{"email":"c7@example.com"}"#, r#"{"user_id":"user_7"}"#),
            ("find_user_id_by_email", r#"{"email":"C7@Example.com"}"#, r#"{"user_id":"user_7"}"#),
            (
                "find_user_id_by_email",
                r#"{"email":"c999999@example.com"}"#,
                r#"{"user_id":"user_999999"}"#,
            ),
            (
                "find_user_id_by_email",
                r#"{"email":"c1000000@example.com"}"#,
                "failed: no user has the email",
            ),
            ("find_user_id_by_email", r#"{"email":"c07@example.com"}"#, "failed: no user"),
            ("find_user_id_by_email", r#"{"email":"c0@example.com"}"#, "failed: no user"),
            ("find_user_id_by_email", r#"{"email":"c+7@example.com"}"#, "failed: no user"),
            ("find_user_id_by_email", r#"{"email":"c@example.com"}"#, "failed: no user"),
            ("find_user_id_by_email", r#"{"email":7}"#, "bad: the tool needs email"),
            ("find_user_id_by_email", "{}", "bad: the tool needs email"),
            (
                "get_user_details",
                r#"{"user_id":"user_7"}"#,
                r##"{"user_id":"user_7","orders":["#W7a","#W7b"],"##,
            ),
            (
                "get_user_details",
                r#"{"user_id":"user_x"}"#,
                "failed: no user has the id \"user_x\"",
            ),
            (
                "get_order_details",
                r##"{"order_id":"#W7b"}"##,
                r##"{"order_id":"#W7b","user_id":"user_7","##,
            ),
            ("get_order_details", r##"{"order_id":"#W7b"}"##, r#""status":"pending""#),
            ("get_order_details", r#"{"order_id":"W7b"}"#, "failed: no order"),
            ("get_order_details", r##"{"order_id":"#W7c"}"##, "failed: no order"),
            ("get_order_details", r##"{"order_id":"#W7é"}"##, "failed: no order"),
        ] {
            check(shop, tool, arguments, expected);
        }
    }

    #[test]
    fn an_order_is_cancelled_once() {
        let shop = &mut Shop::default();
        for (tool, arguments, expected) in [
            (
                "cancel_pending_order",
                r##"{"order_id":"#W7a","reason":"found it cheaper"}"##,
                "failed: the reason must",
            ),
            (
                "cancel_pending_order",
                r##"{"order_id":"#W7a"}"##,
                "bad: the tool needs order_id and reason",
            ),
            (
                "cancel_pending_order",
                r##"{"order_id":"#X","reason":"no longer needed"}"##,
                "failed: no order",
            ),
            ("get_order_details", r##"{"order_id":"#W7a"}"##, r#""status":"pending""#),
            (
                "cancel_pending_order",
                r##"{"order_id":"#W7a","reason":"no longer needed"}"##,
                r#""status":"cancelled""#,
            ),
            (
                "cancel_pending_order",
                r##"{"order_id":"#W7a","reason":"no longer needed"}"##,
                "failed: order #W7a is not pending",
            ),
            (
                "get_order_details",
                r##"{"order_id":"#W7a"}"##,
                r#""cancel_reason":"no longer needed""#,
            ),
            ("get_order_details", r##"{"order_id":"#W7b"}"##, r#""status":"pending""#),
            ("get_order_details", r##"{"order_id":"#W8a"}"##, r#""status":"pending""#),
        ] {
            check(shop, tool, arguments, expected);
        }
    }
}
