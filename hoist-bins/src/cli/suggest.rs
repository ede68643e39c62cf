//! The nearest known word to a mistyped one.

/// The candidate the user most likely meant, if one is close enough to be worth naming.
///
/// Dashes in front do not count, so `-record` and `record` find `--record`. A suggestion that is
/// far off misleads more than it helps, hence the bound: one mistake in every three characters, a
/// swap of neighbours counting as one; or a start of three characters or more that only one
/// candidate has.
pub(super) fn nearest<'a>(
    typed: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let bare = |word: &str| word.trim_start_matches('-').to_lowercase();
    let wanted = bare(typed);
    let by_distance = candidates
        .clone()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &bare(candidate)), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= wanted.chars().count() / 3)
        .map(|(_, candidate)| candidate);
    by_distance.or_else(|| {
        let mut longer = candidates
            .filter(|candidate| wanted.len() >= 3 && bare(candidate).starts_with(&wanted));
        longer.next().filter(|_| longer.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn names_only_close_words() {
        let flags = ["--record", "--retain-days", "--grace", "--max-message-bytes"];
        for (typed, expected) in [
            ("--recrod", Some("--record")),
            ("--recor", Some("--record")),
            ("--RECORD", Some("--record")),
            ("-record", Some("--record")),
            ("--retain", Some("--retain-days")),
            ("--max", Some("--max-message-bytes")),
            ("--re", None),
            ("--x", None),
            ("--", None),
            ("", None),
            ("--something-else", None),
        ] {
            assert_eq!(nearest(typed, flags.into_iter()), expected, "{typed}");
        }
    }
}
