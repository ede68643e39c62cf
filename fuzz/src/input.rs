//! Taking a fuzzer's bytes apart.

/// Takes small numbers off the front of an input; what is left is the data under test.
#[derive(Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte, or 0 where there is none.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number up to 65,536: small ones are as likely as large ones.
    pub fn size(&mut self) -> usize {
        match self.byte() {
            small @ 0..128 => usize::from(small),
            large => usize::from(large - 127) * 512,
        }
    }

    /// The lengths that a stream is cut into, again and again: at least one, none of them 0.
    pub fn chunks(&mut self) -> Vec<usize> {
        let count = self.byte() % 4 + 1;
        (0..count).map(|_| self.size() + 1).collect()
    }

    /// What is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// `data` cut into pieces of these lengths, taken in turn.
pub fn pieces<'a>(data: &'a [u8], lens: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = data;
    lens.iter().cycle().map_while(move |len| {
        let (piece, after) = rest.split_at_checked(*len).unwrap_or((rest, &[]));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
