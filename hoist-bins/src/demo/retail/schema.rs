//! The shop's tools as they are listed.

use crate::demo::tool::{Tool, ToolEffect};

pub(in crate::demo) static TOOLS: [Tool; 4] = [
    Tool {
        name: "find_user_id_by_email",
        title: "Find a user",
        description: "Find the id of the user with this email address.",
        effect: ToolEffect::Read,
        input_schema: concat!(
            r#"{"type":"object","properties":{"email":{"type":"string","#,
            r#""description":"The email address, such as c1@example.com"}},"required":["email"]}"#,
        ),
        output_schema: Some(
            r#"{"type":"object","properties":{"user_id":{"type":"string"}},"required":["user_id"]}"#,
        ),
    },
    Tool {
        name: "get_user_details",
        title: "User details",
        description: "Get a user's name, email, address and order ids.",
        effect: ToolEffect::Read,
        input_schema: concat!(
            r#"{"type":"object","properties":{"user_id":{"type":"string","#,
            r#""description":"The user's id, such as user_1"}},"required":["user_id"]}"#,
        ),
        output_schema: Some(USER_SCHEMA),
    },
    Tool {
        name: "get_order_details",
        title: "Order details",
        description: "Get an order's status, items, address and payment.",
        effect: ToolEffect::Read,
        input_schema: concat!(
            r##"{"type":"object","properties":{"order_id":{"type":"string","##,
            r##""description":"The order's id with its number sign, such as #W1a"}},"required":["order_id"]}"##,
        ),
        output_schema: Some(ORDER_SCHEMA),
    },
    Tool {
        name: "cancel_pending_order",
        title: "Cancel an order",
        description: "Cancel an order that is pending, and refund it. It cannot be undone: ask the user to confirm \
                      the order and the reason first.",
        effect: ToolEffect::DestructiveWrite,
        input_schema: concat!(
            r##"{"type":"object","properties":{"order_id":{"type":"string","##,
            r##""description":"The order's id with its number sign, such as #W1a"},"##,
            r#""reason":{"type":"string","enum":["no longer needed","ordered by mistake"],"#,
            r#""description":"Why the user cancels"}},"required":["order_id","reason"]}"#,
        ),
        output_schema: Some(ORDER_SCHEMA),
    },
];

macro_rules! address_schema {
    () => {
        concat!(
            r#"{"type":"object","properties":{"address1":{"type":"string"},"city":{"type":"string"},"#,
            r#""state":{"type":"string"},"zip":{"type":"string"},"country":{"type":"string"}},"#,
            r#""required":["address1","city","state","zip","country"]}"#,
        )
    };
}

const USER_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"user_id":{"type":"string"},"#,
    r#""orders":{"type":"array","items":{"type":"string"}},"#,
    r#""name":{"type":"object","properties":{"first_name":{"type":"string"},"last_name":{"type":"string"}},"#,
    r#""required":["first_name","last_name"]},"email":{"type":"string"},"address":"#,
    address_schema!(),
    r#"},"required":["user_id","orders","name","email","address"]}"#,
);

const ORDER_SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"order_id":{"type":"string"},"user_id":{"type":"string"},"#,
    r#""status":{"type":"string","enum":["pending","cancelled"]},"#,
    r#""items":{"type":"array","items":{"type":"object","properties":{"item_id":{"type":"string"},"#,
    r#""product_id":{"type":"string"},"name":{"type":"string"},"price":{"type":"number"}},"#,
    r#""required":["item_id","product_id","name","price"]}},"address":"#,
    address_schema!(),
    r#","payment":{"type":"object","properties":{"payment_method_id":{"type":"string"},"#,
    r#""amount":{"type":"number"},"refunded":{"type":"boolean"}},"#,
    r#""required":["payment_method_id","amount","refunded"]},"cancel_reason":{"type":"string"}},"#,
    r#""required":["order_id","user_id","status","items","address","payment"]}"#,
);
