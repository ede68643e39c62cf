//! Tokens that are known by how they look.

use super::REDACTED;

/// A kind of token: how it starts, how many characters follow at least, and whether `-` and `_`
/// may be among them.
struct Shape {
    start: &'static str,
    min: usize,
    dashes: bool,
}

const fn shape(start: &'static str, min: usize, dashes: bool) -> Shape {
    Shape { start, min, dashes }
}

const SHAPES: &[Shape] = &[
    shape("sk-", 16, true),
    shape("sk_live_", 8, false),
    shape("sk_test_", 8, false),
    shape("rk_live_", 8, false),
    shape("rk_test_", 8, false),
    shape("whsec_", 16, false),
    shape("ghp_", 16, false),
    shape("gho_", 16, false),
    shape("ghu_", 16, false),
    shape("ghs_", 16, false),
    shape("ghr_", 16, false),
    shape("github_pat_", 16, true),
    shape("glpat-", 12, true),
    shape("gldt-", 12, true),
    shape("xoxb-", 10, true),
    shape("xoxa-", 10, true),
    shape("xoxp-", 10, true),
    shape("xoxr-", 10, true),
    shape("xoxs-", 10, true),
    shape("xapp-", 10, true),
    shape("AKIA", 12, false),
    shape("ASIA", 12, false),
    shape("AIza", 16, true),
    shape("ya29.", 16, true),
    shape("eyJ", 16, true),
    shape("hf_", 16, false),
    shape("npm_", 16, false),
    shape("pypi-", 16, true),
    shape("dop_v1_", 16, false),
    shape("dckr_pat_", 16, true),
    shape("SG.", 16, true),
    shape("lin_api_", 16, false),
    shape("ntn_", 16, false),
    shape("figd_", 16, true),
    shape("tvly-", 16, true),
    shape("pplx-", 16, false),
    shape("gsk_", 16, false),
    shape("xai-", 16, false),
    shape("shpat_", 16, false),
    shape("ATATT3", 16, true),
    shape("sbp_", 16, false),
    shape("AGE-SECRET-KEY-", 16, false),
];

/// `text` without what looks like a token. Only runs of characters that tokens are made of are
/// looked at, from their beginning.
pub(super) fn redact(text: &str) -> String {
    if text.contains("PRIVATE KEY-----") {
        return REDACTED.to_owned();
    }
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.find(|c| !is_token_char(c)).unwrap_or(rest.len());
        if run == 0 {
            let (skipped, after) = rest.split_at(first.len_utf8());
            redacted.push_str(skipped);
            rest = after;
            continue;
        }
        let (token, after) = rest.split_at(run);
        redacted.push_str(if is_token(token) { REDACTED } else { token });
        rest = after;
    }
    redacted
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn is_token(run: &str) -> bool {
    SHAPES.iter().any(|shape| {
        let Some(rest) = run.strip_prefix(shape.start) else { return false };
        let fits = |b: u8| b.is_ascii_alphanumeric() || (shape.dashes && matches!(b, b'-' | b'_'));
        let body = rest.bytes().take_while(|b| fits(*b)).count();
        // Words joined by dashes have neither digits nor capitals.
        body >= shape.min
            && rest[..body].bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    })
}
