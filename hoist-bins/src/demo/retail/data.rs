//! The users and orders of the shop, worked out from their numbers: nothing is stored, and every
//! run sees the same.

use serde::Serialize;

const FIRST_NAMES: [&str; 12] = [
    "Amara", "Bruno", "Chen", "Dalia", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jia", "Kofi",
    "Lena",
];
const LAST_NAMES: [&str; 11] = [
    "Okafor", "Rossi", "Wei", "Haddad", "Novak", "Silva", "Marin", "Sato", "Horvat", "Lin",
    "Mensah",
];
const STREETS: [&str; 7] =
    ["Maple", "Harbor", "Juniper", "Orchard", "Lakeview", "Quarry", "Willow"];
/// City, state and the first three digits of its postcodes.
const CITIES: [(&str, &str, u32); 5] = [
    ("Portland", "OR", 972),
    ("Austin", "TX", 787),
    ("Denver", "CO", 802),
    ("Columbus", "OH", 432),
    ("Raleigh", "NC", 276),
];
/// Name and price in cents.
const PRODUCTS: [(&str, u32); 11] = [
    ("Desk Lamp", 4_250),
    ("Water Bottle", 1_899),
    ("Hiking Boots", 12_999),
    ("Mechanical Keyboard", 8_995),
    ("Wireless Earbuds", 15_900),
    ("Bookshelf", 20_475),
    ("Yoga Mat", 2_350),
    ("Espresso Machine", 31_250),
    ("Backpack", 6_499),
    ("Wall Clock", 3_720),
    ("Garden Hose", 2_815),
];

/// A user: a number from 1 to 999999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct UserKey(u32);

/// One of a user's two orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OrderKey {
    user: UserKey,
    half: Half,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Half {
    A,
    B,
}

/// What `get_user_details` shows.
#[derive(Debug, Serialize)]
pub(super) struct User {
    #[serde(rename = "user_id")]
    id: String,
    orders: [String; 2],
    name: Name,
    email: String,
    address: Address,
}

#[derive(Debug, Serialize)]
struct Name {
    first_name: &'static str,
    last_name: &'static str,
}

#[derive(Debug, Serialize)]
struct Address {
    address1: String,
    city: &'static str,
    state: &'static str,
    zip: String,
    country: &'static str,
}

/// What `get_order_details` shows.
#[derive(Debug, Serialize)]
pub(super) struct Order {
    #[serde(rename = "order_id")]
    id: String,
    user_id: String,
    status: &'static str,
    items: Vec<Item>,
    address: Address,
    payment: Payment,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Item {
    #[serde(rename = "item_id")]
    id: String,
    product_id: String,
    name: &'static str,
    price: f64,
}

#[derive(Debug, Serialize)]
struct Payment {
    #[serde(rename = "payment_method_id")]
    method_id: String,
    amount: f64,
    refunded: bool,
}

impl UserKey {
    pub(super) fn from_id(id: &str) -> Option<Self> {
        Self::from_digits(id.strip_prefix("user_")?)
    }

    pub(super) fn from_email(email: &str) -> Option<Self> {
        Self::from_digits(
            email.to_ascii_lowercase().strip_prefix('c')?.strip_suffix("@example.com")?,
        )
    }

    /// Each user has one spelling, so no sign and no zero in front.
    fn from_digits(digits: &str) -> Option<Self> {
        let plain = digits.len() <= 6
            && !digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| plain).map(Self)
    }

    pub(super) fn id(self) -> String {
        format!("user_{}", self.0)
    }

    pub(super) fn details(self) -> User {
        let first_name = pick(&FIRST_NAMES, self.0);
        let last_name = pick(&LAST_NAMES, self.0);
        User {
            id: self.id(),
            orders: [Half::A, Half::B].map(|half| OrderKey { user: self, half }.id()),
            name: Name { first_name, last_name },
            email: format!("c{}@example.com", self.0),
            address: self.address(),
        }
    }

    fn address(self) -> Address {
        let (city, state, zip) = pick(&CITIES, self.0);
        Address {
            address1: format!("{} {} Street", 100 + self.0 % 800, pick(&STREETS, self.0)),
            city,
            state,
            zip: format!("{zip}{:02}", self.0 % 100),
            country: "USA",
        }
    }
}

impl OrderKey {
    pub(super) fn from_id(id: &str) -> Option<Self> {
        let rest = id.strip_prefix("#W")?;
        let (digits, half) = rest
            .strip_suffix('a')
            .map(|digits| (digits, Half::A))
            .or_else(|| rest.strip_suffix('b').map(|digits| (digits, Half::B)))?;
        Some(Self { user: UserKey::from_digits(digits)?, half })
    }

    fn id(self) -> String {
        format!("#W{}{}", self.user.0, if self.half == Half::A { 'a' } else { 'b' })
    }

    /// The order as it is: pending, or cancelled for a reason.
    pub(super) fn details(self, cancel_reason: Option<&'static str>) -> Order {
        let number = self.user.0 * 2 + u32::from(self.half == Half::B);
        // Steps of three through eleven products: no order has the same one twice.
        let products = (0..=number % 3).map(|item| (number * 5 + item * 3) % 11);
        let mut cents = 0;
        let items = products.map(|product| {
            let (name, price) = pick(&PRODUCTS, product);
            cents += price;
            Item {
                id: format!("{}", 4_100_000_000_u32 + product * 7_919 + number % 4 * 31),
                product_id: format!("{}", 1_600_000_000_u32 + product * 104_729),
                name,
                price: dollars(price),
            }
        });
        let items = items.collect();
        Order {
            id: self.id(),
            user_id: self.user.id(),
            status: if cancel_reason.is_some() { "cancelled" } else { "pending" },
            items,
            address: self.user.address(),
            payment: Payment {
                method_id: format!("credit_card_{}", 2_000_000 + self.user.0),
                amount: dollars(cents),
                refunded: cancel_reason.is_some(),
            },
            cancel_reason,
        }
    }
}

fn dollars(cents: u32) -> f64 {
    f64::from(cents) / 100.0
}

fn pick<T: Copy>(from: &[T], number: u32) -> T {
    from[number as usize % from.len()]
}
