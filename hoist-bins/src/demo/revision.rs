//! The protocol revisions, and what each has that others lack.

/// A revision of the Model Context Protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Revision {
    R20241105,
    R20250326,
    R20250618,
    R20251125,
    R20260728,
}

impl Revision {
    /// The newest revision that starts with `initialize`.
    pub(super) const LATEST_LEGACY: Self = Self::R20251125;

    /// The only revision without `initialize`.
    pub(super) const MODERN: Self = Self::R20260728;

    /// The name it has on the wire.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::R20241105 => "2024-11-05",
            Self::R20250326 => "2025-03-26",
            Self::R20250618 => "2025-06-18",
            Self::R20251125 => "2025-11-25",
            Self::R20260728 => "2026-07-28",
        }
    }

    /// The revision to answer `initialize` with: the one asked for if it is legacy and known, else
    /// the newest.
    pub(super) fn negotiate(requested: &str) -> Self {
        [Self::R20241105, Self::R20250326, Self::R20250618]
            .into_iter()
            .find(|revision| revision.name() == requested)
            .unwrap_or(Self::LATEST_LEGACY)
    }

    /// Whether requests carry `_meta` and results a type.
    pub(super) fn is_modern(self) -> bool {
        self == Self::MODERN
    }

    /// Whether a line may be an array of messages: one revision brought it, the next took it away.
    pub(super) fn has_batches(self) -> bool {
        self == Self::R20250326
    }

    /// Whether tools have an `outputSchema` and results `structuredContent`.
    pub(super) fn has_structured_content(self) -> bool {
        self >= Self::R20250618
    }

    /// Whether arguments that break a tool's schema are the tool's error, which the model sees and
    /// can correct, and not an error of the protocol.
    pub(super) fn tells_the_model_of_bad_arguments(self) -> bool {
        self >= Self::R20251125
    }

    /// Whether an error that answers no readable request leaves `id` out. Before that the schema
    /// requires the member and JSON-RPC wants it null.
    pub(super) fn leaves_out_unknown_id(self) -> bool {
        self >= Self::R20251125
    }
}
